"""The event log in PostgreSQL compared with the library's recorder for it.

    PYTHONPATH=tests .venv/bin/python bench/event_log_postgres.py [EVENTS] [--json]

On a private server, with fsync.  Appends of 16 callers are measured in rounds, both ways by
turns: ours is `PostgresEventLog`, whole, with encoding of domain events; the library's has a
thread a caller, and needs its driver (``make bench`` fetches it).  Every event is about 114
bytes, one an append; each caller has a stream of its own.
"""

import asyncio
import importlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from statistics import median
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from eventsourcing.persistence import ApplicationRecorder, StoredEvent

from cs.domain.codec import to_plain
from cs.domain.key import SearchSettled
from cs.eventlog.port import Append
from cs.eventlog.postgres import PostgresEventLog
from cs.postgres.pool import open_pool
from cs.postgres.schema import STORES
from harness.memory_keys import MemoryKeyStore
from harness.places import open_database
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
from shown import command, show

ROUNDS, CALLERS = 5, 16
AT = datetime(2026, 1, 1, tzinfo=UTC)


def settled(number: int) -> SearchSettled:
    return SearchSettled(
        search=f"srch_{number}", lookup="b.1", outcome="done", charged=True, cached=True, at=AT
    )


#: What our codec makes of one.
STATE = msgspec.json.encode(to_plain(settled(100_000)))


async def our_append(dsn: str, each: int, turn: int) -> float:
    """Return how many events a second callers append with *each* of theirs."""
    async with (
        open_pool(dsn, role="bench") as pool,
        PostgresEventLog(pool, MemoryKeyStore()) as log,
    ):

        async def caller(stream: str) -> None:
            for version in range(each):
                await log.append([Append(stream, version - 1, [settled(version)])])

        await log.append([Append(f"key-warm-{turn}", -1, [settled(0)])])
        began = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number in range(CALLERS):
                tasks.create_task(caller(f"key-ours-{number}-{turn}"))
        return each * CALLERS / (time.perf_counter() - began)


@contextmanager
def in_postgres(dsn: str) -> Iterator[ApplicationRecorder]:
    """The library's recorder, in tables of its own names."""
    library: Any = importlib.import_module("eventsourcing.postgres")
    at = urlsplit(dsn)
    datastore = library.PostgresDatastore(
        at.path.strip("/"),
        parse_qs(at.query).get("host", [at.hostname])[0],
        parse_qs(at.query).get("port", [at.port])[0],
        at.username,
        at.password or "",
        pool_size=CALLERS,
        originator_id_type="text",
    )
    recorder = library.PostgresApplicationRecorder(
        datastore, events_table_name="library_events"
    )
    recorder.create_table()
    yield recorder
    datastore.close()


def library_append(recorder: ApplicationRecorder, each: int, turn: int) -> float:
    """Return the same of the library's *recorder*."""

    def caller(number: int) -> None:
        for version in range(each):
            stream = f"s{number}-{turn}"
            event = StoredEvent(stream, version, "key.search-settled.v1", STATE)
            recorder.insert_events([event])

    began = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(caller, range(CALLERS)))
    return each * CALLERS / (time.perf_counter() - began)


async def migrated(dsn: str) -> None:
    async with open_database(dsn, STORES[0]):
        pass


def main(events: int) -> dict[str, Any]:
    per_s: dict[str, list[float]] = {"ours": [], "the library's recorder": []}
    each = events // CALLERS
    with own_folder() as folder, running_postgres(folder / "postgres", durable=True) as server:
        asyncio.run(migrated(server.dsn))
        with in_postgres(server.dsn) as recorder:
            for turn in range(ROUNDS):
                theirs = library_append(recorder, each // 16, turn)
                per_s["the library's recorder"].append(theirs)
                per_s["ours"].append(asyncio.run(our_append(server.dsn, each, turn)))
    rows = {
        name: {
            "per_s": round(median(all_)),
            "lowest": round(min(all_)),
            "highest": round(max(all_)),
        }
        for name, all_ in per_s.items()
    }
    return {"rows": rows}


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("events", nargs="?", type=int, default=32_000)
    given = parser.parse_args()
    show(main(given.events), as_json=given.json)
