"""The event log in PostgreSQL compared with simpler ways to write it.

    PYTHONPATH=tests .venv/bin/python bench/event_log_postgres.py [EVENTS] [DSN] [--json]

Without a DSN a private server is started, with fsync.  Appends of 16 callers are measured in
rounds, all ways by turns.  Every event is about 114 bytes, one an append; each caller has a
stream of its own.

* ours: `PostgresEventLog`, whole, with encoding of domain events;
* one append a statement: asyncpg, the same function, a connection a caller, no group writer and
  no codec;
* the library's recorder for PostgreSQL, a thread a caller; left out without its driver
  (``make bench`` fetches it), and its SQLite recorder.
"""

import argparse
import asyncio
import importlib
import importlib.util
import json
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

import asyncpg
import msgspec
from eventsourcing.persistence import ApplicationRecorder, StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from cs.domain.codec import to_plain
from cs.domain.key import SearchSettled
from cs.eventlog.mapper import NewEvent
from cs.eventlog.port import Append
from cs.eventlog.postgres import APPEND, PostgresEventLog, arguments
from cs.eventlog.table_log import PreparedAppend
from cs.postgres.pool import open_pool
from cs.postgres.schema import STORES, migrate
from harness.memory_keys import MemoryKeyStore
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres

Recorder: TypeAlias = ApplicationRecorder

ROUNDS = 5
#: Of one that has a connection or a thread to each caller.
MOST_CONNECTIONS = 64
AT = datetime(2026, 1, 1, tzinfo=UTC)


def settled(number: int) -> SearchSettled:
    return SearchSettled(
        search=f"srch_{number}", lookup="b.1", outcome="done", charged=True, cached=True, at=AT
    )


#: What our codec makes of one.
STATE = msgspec.json.encode(to_plain(settled(100_000)))


def stored(stream: str, version: int) -> StoredEvent:
    return StoredEvent(stream, version, "key.search-settled.v1", STATE)


def new(stream: str, version: int) -> NewEvent:
    return NewEvent(stream, version, "key.search-settled.v1", STATE)


async def our_append(dsn: str, callers: int, events: int, turn: int = 0) -> float:
    async with (
        open_pool(dsn, role="bench") as pool,
        PostgresEventLog(pool, MemoryKeyStore()) as log,
    ):

        async def caller(stream: str) -> None:
            for version in range(events // callers):
                await log.append([Append(stream, version - 1, [settled(version)])])

        await log.append([Append(f"key-warm-{callers}-{turn}", -1, [settled(0)])])
        began = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number in range(callers):
                tasks.create_task(caller(f"key-ours-{callers}-{number}-{turn}"))
        return events // callers * callers / (time.perf_counter() - began)


async def single_append(dsn: str, callers: int, events: int, turn: int = 0) -> float:
    connections = [await asyncpg.connect(dsn) for _ in range(min(callers, MOST_CONNECTIONS))]

    async def caller(number: int, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        stream = f"key-single-{callers}-{number}-{turn}"
        for version in range(events // len(connections)):
            append = Append(stream, version - 1, [settled(version)])
            request = PreparedAppend([append], [new(stream, version)], None, [append])
            await connection.fetch(APPEND, *arguments([request]))

    began = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number, connection in enumerate(connections):
            tasks.create_task(caller(number, connection))
    took = time.perf_counter() - began
    for connection in connections:
        await connection.close()
    return events // len(connections) * len(connections) / took


@contextmanager
def in_sqlite(path: Path, threads: int) -> Iterator[Recorder]:
    datastore = SQLiteDatastore(f"file:{path}", pool_size=threads, originator_id_type="text")
    recorder = SQLiteApplicationRecorder(datastore)
    recorder.create_table()
    yield recorder
    datastore.close()


@contextmanager
def in_postgres(dsn: str, threads: int) -> Iterator[Recorder]:
    """The library's recorder, in tables of its own names."""
    library: Any = importlib.import_module("eventsourcing.postgres")
    at = urlsplit(dsn)
    datastore = library.PostgresDatastore(
        at.path.strip("/"),
        parse_qs(at.query).get("host", [at.hostname])[0],
        parse_qs(at.query).get("port", [at.port])[0],
        at.username,
        at.password or "",
        pool_size=threads,
        originator_id_type="text",
    )
    recorder = library.PostgresApplicationRecorder(
        datastore, events_table_name="library_events"
    )
    recorder.create_table()
    yield recorder
    datastore.close()


def library_append(recorder: Recorder, callers: int, events: int, turn: int = 0) -> float:
    threads = min(callers, MOST_CONNECTIONS)

    def caller(number: int) -> None:
        for version in range(events // threads):
            recorder.insert_events([stored(f"s{callers}-{number}-{turn}", version)])

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(caller, range(threads)))
    took = time.perf_counter() - began
    return events // threads * threads / took


async def migrated(dsn: str) -> None:
    async with open_pool(dsn, role="bench") as pool, pool.acquire() as connection:
        await migrate(connection, STORES[0])


def main(events: int, dsn: str | None, *, as_json: bool) -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if dsn is None:
            own = stack.enter_context(own_folder())
            server = stack.enter_context(running_postgres(own / "postgres", durable=True))
            dsn = server.dsn
        asyncio.run(migrated(dsn))
        libraries = {"SQLite": in_sqlite(folder / "library.db", MOST_CONNECTIONS)}
        if importlib.util.find_spec("psycopg") is not None:
            libraries = {"library": in_postgres(dsn, MOST_CONNECTIONS), **libraries}
        recorders = {name: stack.enter_context(library) for name, library in libraries.items()}
        rows = rounds(dsn, recorders, events)
        if as_json:
            print(json.dumps({"rows": rows}))
            return
        for row in rows:
            print(f"{row['name']:<36}" + f"{row['median']:>12,.0f} events/s")


def rounds(
    dsn: str, recorders: Mapping[str, Recorder], events: int, callers: int = 16
) -> list[dict[str, Any]]:
    """Return how many events a second each way appends, the library's first."""
    speeds: dict[str, list[float]] = {}
    for turn in range(ROUNDS):
        for name, recorder in recorders.items():
            took = library_append(recorder, callers, events // 16, turn)
            of = "PostgreSQL" if name == "library" else name
            speeds.setdefault(f"the library's recorder, {of}", []).append(took)
        took = asyncio.run(single_append(dsn, callers, events // 4, turn))
        speeds.setdefault("one append a statement", []).append(took)
        took = asyncio.run(our_append(dsn, callers, events, turn))
        speeds.setdefault("ours", []).append(took)
    return [
        {"name": name, "median": median(each), "low": min(each), "high": max(each)}
        for name, each in speeds.items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", nargs="?", type=int, default=32_000)
    parser.add_argument("dsn", nargs="?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    main(given.events, given.dsn, as_json=given.json)
