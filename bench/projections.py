"""Projecting into PostgreSQL: pages against one transaction for each event.

    .venv/bin/python bench/projections.py [EVENTS] [--json]

A PostgreSQL of its own, durable as a real one (fsync on).  "one by one" is our own code
with pages of one event, each its own transaction; "a bare row" is one row and no more in
each transaction, with the wait for the disk at its commit that our pages leave out (views
are made anew from the log, and what a crash loses is applied again).  50 keys search 200
brands; five events a search.

Into a SQLite file beside the eventsourcing library's way: its recorder for projections, a
transaction for each event, with one row and the tracking of its position and no more; with
``--json`` nothing but that.  Ours in pages as a running service reads them, and as one that
catches up does; Python looks for garbage as seldom as in a service.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from eventsourcing.persistence import Tracking
from eventsourcing.sqlite import SQLiteDatastore, SQLiteTrackingRecorder

from cs.domain.key import SearchSettled
from cs.eventlog.port import RecordedEvent
from cs.postgres.pool import Pool, open_pool
from cs.projections.catalogue import projections
from cs.projections.postgres.views import PostgresViews
from cs.projections.runner import CATCH_UP_PAGE
from cs.projections.searches import SEARCHES
from cs.projections.sqlite.views import SqliteViews
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog

# In place of this folder, whose module of this name would hide the tests' folder.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from harness.servers.own_folder import own_folder
from harness.servers.postgres import running_postgres
from projections.long_history import write_long

PAGES = (500, 5_000)
FILE_PAGES = (500, CATCH_UP_PAGE)
ROUNDS = 5


def unsealed(_: str, body: bytes) -> bytes:
    return body


async def project(
    views: PostgresViews | SqliteViews, stream: list[RecordedEvent], page: int
) -> float:
    """Return events per second."""
    await views.position()
    began = time.perf_counter()
    for start in range(0, len(stream), page):
        await views.apply(stream[start : start + page], unsealed)
    took = time.perf_counter() - began
    settled = {r.event.search for r in stream if isinstance(r.event, SearchSettled)}
    done = {search for search, row in await views.all(SEARCHES) if row.status != "running"}
    assert done == settled  # work was done
    return len(stream) / took


async def waited_for(pool: Pool, stream: list[RecordedEvent]) -> float:
    """The least that a durable transaction for each event costs: one row and its tracking."""
    await pool.execute("CREATE TABLE tracked (id TEXT PRIMARY KEY, at BIGINT, row BYTEA)")
    began = time.perf_counter()
    async with pool.acquire() as connection:
        for recorded in stream:
            async with connection.transaction():
                await connection.execute(
                    "INSERT INTO tracked VALUES ($1, $2, $3)",
                    *(str(recorded.position), recorded.position, b"x" * 114),
                )
    return len(stream) / (time.perf_counter() - began)


class LibraryProjection(SQLiteTrackingRecorder):
    """One row for each event, in the transaction that tracks its position."""

    def __init__(self, path: Path) -> None:
        super().__init__(SQLiteDatastore(f"file:{path}"))
        self.create_table()
        with self.datastore.transaction(commit=True) as cursor:
            cursor.execute("CREATE TABLE projected (id TEXT PRIMARY KEY, row BLOB)")

    def project(self, recorded: RecordedEvent) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, Tracking("views", recorded.position))
            cursor.execute(
                "INSERT INTO projected VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET row = ?",
                (recorded.stream, b"x" * 114, b"x" * 114),
            )


def by_library(path: Path, stream: list[RecordedEvent]) -> float:
    library = LibraryProjection(path)
    began = time.perf_counter()
    for recorded in stream:
        library.project(recorded)
    took = time.perf_counter() - began
    library.datastore.close()
    return len(stream) / took


async def into_files(
    folder: Path, stream: list[RecordedEvent]
) -> Mapping[str, Sequence[float]]:
    """Compare all ways by turns; return their events a second, the library's first."""
    speeds: dict[str, list[float]] = {"the library's recorder": []}
    speeds |= {f"pages of {page:,}": [] for page in FILE_PAGES}
    for turn in range(ROUNDS):
        library = by_library(folder / f"library-{turn}.db", stream[: len(stream) // 10])
        speeds["the library's recorder"].append(library)
        for page in FILE_PAGES:
            views = SqliteViews(folder / f"views-{turn}-{page}.db", projections())
            speeds[f"pages of {page:,}"].append(await project(views, stream, page))
            await views.close()
    return speeds


async def measure(dsn: str, folder: Path, events: int) -> None:
    log = MemoryEventLog(MemoryKeyStore())
    await write_long(log, events)
    stream = [*await log.tail(0, events)]
    rows: list[tuple[str, float]] = []
    async with open_pool(dsn, role="bench") as pool:
        views = PostgresViews(pool, projections())
        rows.append(("one by one", await project(views, stream[: events // 20], 1)))
        rows.append(("  a bare row, waited for", await waited_for(pool, stream[:2_000])))
        for page in PAGES:
            await views.reset()
            rows.append((f"pages of {page}", await project(views, stream, page)))
        await views.close()
    embedded = SqliteViews(None, projections())
    rows.append(("SQLite in memory, pages of 500", await project(embedded, stream, 500)))
    await embedded.close()
    base = rows[0][1]
    print(f"{events} events into PostgreSQL; events/s")
    for what, speed in rows:
        print(f"{what:<34}{speed:12,.0f} {speed / base:6.1f}x")
    await show_files(folder, stream)


async def show_files(folder: Path, stream: list[RecordedEvent]) -> None:
    rounds = await into_files(folder, stream)
    base = median(next(iter(rounds.values())))
    print(f"into a SQLite file; events/s, the middle of {ROUNDS} rounds")
    for what, speeds in rounds.items():
        print(f"{what:<34}{median(speeds):12,.0f} {median(speeds) / base:6.1f}x")


async def as_json(folder: Path, events: int) -> None:
    log = MemoryEventLog(MemoryKeyStore())
    await write_long(log, events)
    rounds = await into_files(folder, [*await log.tail(0, events)])
    rows = [
        {"name": what, "median": median(speeds), "low": min(speeds), "high": max(speeds)}
        for what, speeds in rounds.items()
    ]
    print(json.dumps({"rows": rows}))


def main(events: int, *, json_only: bool) -> None:
    with own_folder() as folder:
        if json_only:
            asyncio.run(as_json(folder, events))
            return
        with running_postgres(folder / "postgres", durable=True) as server:
            asyncio.run(measure(server.dsn, folder, events))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", nargs="?", type=int, default=40_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    main(given.events, json_only=given.json)
