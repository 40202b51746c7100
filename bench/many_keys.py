"""How long a service with a million keys takes to be ready, and its memory.

    PYTHONPATH=tests .venv/bin/python bench/many_keys.py [KEYS] [--json]

Each form, SQLite in one process and the API on PostgreSQL, is started in a process of its
own, from its first instruction to being ready, three times.  Prints the median of the seconds,
and the peak of memory, MiB.
"""

import asyncio
import json
import resource
import secrets
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median

import asyncpg
import msgspec

from cs.assembly.folder import open_folder
from cs.assembly.one_process import memory_bus, run_service
from cs.assembly.roles import run_api
from cs.domain.codec import topic_of
from cs.domain.key import KeyIssued
from cs.eventlog.port import EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import STORES, migrate
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.views import Views
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from cs.settings import Settings
from harness.memory_keys import MemoryKeyStore
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres

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


def settings_of(postgres: str, folder: Path) -> Settings:
    return Settings(
        postgres=f"{postgres}/service",
        keys_postgres=f"{postgres}/keys",
        master_key_file=folder / "master.key",
    )


@asynccontextmanager
async def embedded(folder: Path) -> AsyncIterator[None]:
    async with (
        open_folder(DataFolder(folder)) as data,
        run_service(
            data,
            [],
            bus=memory_bus(),
            clock=SystemClock(),
            settings=Settings(lookup_deadline_s=120),
        ),
    ):
        yield


async def child(form: str, place: str, folder: Path) -> None:
    """Start one service, and say when it is ready and how large it became."""
    service = (
        embedded(folder) if form == "SQLite" else run_api(settings_of(place, folder), "live")
    )
    async with service:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, flush=True)


def measured(form: str, place: str, folder: Path) -> tuple[float, int]:
    """Return the seconds to being ready, and the peak in MiB."""
    command = [sys.executable, __file__, "child", form, place, str(folder)]
    took, peaks = [], []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            peaks.append(int(process.stdout.readline()))
            took.append(time.perf_counter() - began)
    return median(took), max(peaks)


async def make_sqlite(folder: Path, keys: int) -> None:
    async with open_folder(DataFolder(folder)) as data:
        await Operator(Streams(data.log), SystemClock()).choose_world("live")
    fill_sqlite(folder, issued(keys))
    async with open_folder(DataFolder(folder)) as data:
        await build_views(data.log, data.views)


async def make_postgres(postgres: str, folder: Path, keys: int) -> None:
    settings = settings_of(postgres, folder)
    (folder / "master.key").write_bytes(secrets.token_bytes(32))
    (folder / "master.key").chmod(0o600)
    admin = await asyncpg.connect(f"{postgres}/postgres")
    for name in ("service", "keys"):
        assert name in STORES
        await admin.execute(f"CREATE DATABASE {name}")
        async with (
            open_pool(f"{postgres}/{name}", role="bench") as pool,
            connected(pool) as connection,
        ):
            await migrate(connection, name)
    await admin.close()
    async with open_pool(settings.postgres or "", role="bench") as pool:
        async with PostgresEventLog(pool, MemoryKeyStore()) as log:
            await Operator(Streams(log), SystemClock()).choose_world("live")
        await fill_postgres(settings.postgres or "", keys)
        async with PostgresEventLog(pool, MemoryKeyStore()) as log:
            views = postgres_views(pool, projections())
            await build_views(log, views)
            await views.close()
        await pool.execute("ANALYZE")


def main(keys: int) -> dict[str, tuple[float, int]]:
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(make_sqlite(Path(name), keys))
        found = {"SQLite": measured("SQLite", "", Path(name))}
    with (
        own_folder() as folder,
        running_postgres(folder / "postgres") as server,
        tempfile.TemporaryDirectory() as name,
    ):
        postgres = server.dsn.removesuffix("/postgres")
        asyncio.run(make_postgres(postgres, Path(name), keys))
        return found | {"PostgreSQL": measured("PostgreSQL", postgres, Path(name))}


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        form, place, folder = sys.argv[2:]
        asyncio.run(child(form, place, Path(folder)))
    else:
        numbers = [int(each) for each in sys.argv[1:] if each != "--json"]
        found = main(*numbers or [1_000_000])
        if "--json" in sys.argv:
            print(json.dumps(found))
        else:
            for form, (took_s, peak_mib) in found.items():
                print(f"{form:<12}{took_s:8.2f} s{peak_mib:8d} MiB")
