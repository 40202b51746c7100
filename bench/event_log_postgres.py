"""The event log in PostgreSQL beside simpler ways to write it.

    PYTHONPATH=tests .venv/bin/python bench/event_log_postgres.py [EVENTS] [DSN] [--json]

Without a DSN a private server is started, with fsync.  With ``--json`` appends of 16 callers
are measured and nothing else, in rounds: all by turns.  Every event is about 114 bytes, one
an append; each caller has a stream of its own.  Columns:

* ours: `PostgresEventLog`, whole, with encoding and decoding of domain events;
* by itself: asyncpg, the same function, one append a statement, a connection a caller (64
  at most), no group writer and no codec; its tail reads the rows without decoding them;
* library: the eventsourcing library's own recorder for PostgreSQL, a thread a caller.  It needs
  another driver, which this project does not use; the column is left out without it:
  ``.venv/bin/pip install --target DIR 'psycopg[binary,pool]'``, then run with ``DIR`` in
  ``PYTHONPATH`` too;
* SQLite: the library's own SQLite recorder, a thread a caller.
"""

import argparse
import asyncio
import importlib
import importlib.util
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
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
from cs.eventlog.postgres.append import APPEND, arguments
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.table_log import PreparedAppend
from cs.postgres.pool import open_pool
from cs.postgres.schema import migrate
from cs.postgres.schema_steps import STORES
from harness.memory_keys import MemoryKeyStore
from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres

Recorder: TypeAlias = ApplicationRecorder

CALLERS = (1, 16, 256)
ROUNDS = 5
#: Of one that has a connection or a thread to each caller.
MOST_CONNECTIONS = 64
PAGE = 500
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


async def our_tail(dsn: str) -> float:
    async with (
        open_pool(dsn, role="bench") as pool,
        PostgresEventLog(pool, MemoryKeyStore()) as log,
    ):
        head = await log.head()
        began = time.perf_counter()
        after = 0
        while page := await log.tail(after, PAGE):
            after = page[-1].position
        assert after == head, after
        return head / (time.perf_counter() - began)


async def rows_tail(dsn: str) -> float:
    """The same pages, not decoded."""
    connection = await asyncpg.connect(dsn)
    began = time.perf_counter()
    after = 0
    while page := await connection.fetch(
        "SELECT notification_id, originator_id, originator_version, topic, state "
        "FROM stored_events WHERE notification_id > $1 ORDER BY notification_id LIMIT $2",
        after,
        PAGE,
    ):
        after = page[-1][0]
    took = time.perf_counter() - began
    await connection.close()
    return after / took


def library_tail(recorder: Recorder) -> float:
    began = time.perf_counter()
    after = told = 0
    while page := recorder.select_notifications(after, PAGE, inclusive_of_start=False):
        after, told = page[-1].id, told + len(page)
    return told / (time.perf_counter() - began)


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
        if as_json:
            print(json.dumps({"rows": rounds(dsn, recorders, events)}))
            return
        names = ["ours", "by itself", *recorders]
        print(f"{'events/s':<20}" + "".join(f"{name:>20}" for name in names))
        for callers in CALLERS:
            count = events // 10 if callers == 1 else events
            speeds = [
                asyncio.run(our_append(dsn, callers, count)),
                asyncio.run(single_append(dsn, callers, count // 4)),
                *(library_append(each, callers, count // 4) for each in recorders.values()),
            ]
            show(f"append, {callers} callers", speeds)
        tails = [asyncio.run(our_tail(dsn)), asyncio.run(rows_tail(dsn))]
        show(f"tail, pages of {PAGE}", tails + [library_tail(r) for r in recorders.values()])


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


def show(what: str, speeds: Sequence[float]) -> None:
    """Print *speeds*, and how many times each of the others goes into the first."""
    ratios = [f"{speed:,.0f} ({speeds[0] / speed:.1f}x)" for speed in speeds[1:]]
    print(f"{what:<20}" + "".join(f"{told:>20}" for told in [f"{speeds[0]:,.0f}", *ratios]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", nargs="?", type=int, default=32_000)
    parser.add_argument("dsn", nargs="?")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    main(given.events, given.dsn, as_json=given.json)
