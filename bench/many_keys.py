"""How long a service with a million keys takes to be ready, and its memory.

    PYTHONPATH=tests .venv/bin/python bench/many_keys.py [KEYS] [--json]

`cs serve` on SQLite and `cs api` on PostgreSQL are each started three times.  Shown are the
median of the seconds until calls are answered, and the peak of memory by then, MiB.
"""

import asyncio
import secrets
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median

import asyncpg
import msgspec

from cs.assembly.folder import open_folder
from cs.domain.codec import topic_of
from cs.domain.key import KeyIssued
from cs.eventlog.port import EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.postgres.pool import open_pool
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.views import Views
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.memory_keys import MemoryKeyStore
from harness.served import Served
from harness.service_process import ServiceProcess
from shown import command, show
from system.cluster.cluster import running_cluster

PAGE = 5_000
ROUNDS = 3
AT = datetime(2026, 1, 1, tzinfo=UTC)


def issued(keys: int) -> Iterator[tuple[str, int, str, bytes]]:
    """Yield stream, version, topic and state of *keys* keys that were issued."""
    for n in range(keys):
        event = KeyIssued(
            label=f"customer {n}",
            quota=100,
            secret_hash=secrets.token_hex(32),
            last4="aaaa",
            at=AT,
        )
        yield f"key-key_{n:016d}", 0, topic_of(event), msgspec.json.encode(event)


def fill_sqlite(folder: Path, rows: Iterator[tuple[str, int, str, bytes]]) -> None:
    log = sqlite3.connect(DataFolder(folder).log, isolation_level=None)
    log.execute("PRAGMA synchronous=OFF")
    while page := list(islice(rows, 50_000)):
        log.execute("BEGIN")
        log.executemany("INSERT INTO stored_events VALUES (?, ?, ?, ?)", page)
        log.execute("COMMIT")
    log.close()


async def fill_postgres(dsn: str, keys: int) -> None:
    connection = await asyncpg.connect(dsn)
    rows = issued(keys)
    position = await connection.fetchval("SELECT max(notification_id) FROM stored_events")
    while page := list(islice(rows, 50_000)):
        numbered = [(*row, position + n) for n, row in enumerate(page, 1)]
        position += len(page)
        await connection.copy_records_to_table("stored_events", records=numbered)
    await connection.execute("ANALYZE")
    await connection.close()


async def build_views(log: EventLog, views: Views) -> None:
    while page := await log.tail(await views.position(), PAGE):
        await views.apply(page, lambda _, body: body)


def memory_mib(pid: int, kind: str = "VmRSS") -> int:
    """Return the memory of a process, MiB: what is in use, or ``VmHWM``, the most that was."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(kind)) // 1024


def measured(service: ServiceProcess) -> dict[str, float]:
    took, peaks = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        service.start()
        service.wait_ready()
        took.append(time.perf_counter() - began)
        peaks.append(memory_mib(service.pid, "VmHWM"))
        service.kill()
    return {"ready_s": round(median(took), 2), "peak_mib": max(peaks)}


async def make_sqlite(folder: Path, keys: int) -> None:
    async with open_folder(DataFolder(folder)) as data:
        await Operator(Streams(data.log), SystemClock()).choose_world("sandbox")
    fill_sqlite(folder, issued(keys))
    async with open_folder(DataFolder(folder)) as data:
        await build_views(data.log, data.views)


async def make_postgres(dsn: str, keys: int) -> None:
    async with open_pool(dsn, role="bench") as pool:
        async with PostgresEventLog(pool, MemoryKeyStore()) as log:
            await Operator(Streams(log), SystemClock()).choose_world("sandbox")
        await fill_postgres(dsn, keys)
        async with PostgresEventLog(pool, MemoryKeyStore()) as log:
            views = postgres_views(pool, projections())
            await build_views(log, views)
            await views.close()
        await pool.execute("ANALYZE")


def main(keys: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(make_sqlite(Path(name), keys))
        found = {"SQLite": measured(Served(Path(name)))}
    with running_cluster(kinds=()) as cluster:
        asyncio.run(make_postgres(cluster.postgres.dsn_of("service"), keys))
        return found | {"PostgreSQL": measured(cluster.add("api"))}


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("keys", nargs="?", type=int, default=1_000_000)
    given = parser.parse_args()
    show({"rows": main(given.keys)}, as_json=given.json)
