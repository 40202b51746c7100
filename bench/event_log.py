"""Appending, tailing and projecting, beside the eventsourcing library's own recorder.

    .venv/bin/python bench/event_log.py [EVENTS]

Every event is about 114 bytes.  "with events" includes our codec: encoding, sealing
look-ups and decoding into domain events, which the library's figures leave out.

Two sides of a line do not always do the same: our append checks the stream's version as
well; our projection changes rows of two views a page at a time and need not be durable
(views are rebuilt from the log), the library's stores one event and its tracking durably.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from eventsourcing.persistence import StoredEvent, Tracking
from eventsourcing.sqlite import (
    SQLiteApplicationRecorder,
    SQLiteDatastore,
    SQLiteProcessRecorder,
)

from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.eventlog.mapper import NewEvent
from cs.eventlog.port import Append, RecordedEvent
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.sqlite.recorder import BatchRecorder
from cs.eventlog.table_log import PreparedAppend
from cs.projections.catalogue import projections
from cs.projections.searches import SEARCHES
from cs.projections.sqlite.store import ViewStore
from harness.memory_keys import MemoryKeyStore

CALLERS = 16
PAGE = 500
AT = datetime(2026, 1, 1, tzinfo=UTC)
STATE = b"x" * 114


def stored(stream: str, version: int) -> StoredEvent:
    return StoredEvent(stream, version, "key.search-settled.v1", STATE)


def new(stream: str, version: int) -> NewEvent:
    return NewEvent(stream, version, "key.search-settled.v1", STATE)


def settled(number: int) -> SearchSettled:
    return SearchSettled(
        search=f"srch_{number}", lookup="b.1", outcome="done", charged=True, cached=True, at=AT
    )


def datastore(path: Path) -> SQLiteDatastore:
    return SQLiteDatastore(f"file:{path}", pool_size=CALLERS, originator_id_type="text")


def library_append(path: Path, events: int) -> float:
    """16 threads, one append each at a time: the library's recorder as it is used."""
    recorder = SQLiteApplicationRecorder(datastore(path))
    recorder.create_table()

    def caller(number: int) -> None:
        for version in range(events // CALLERS):
            recorder.insert_events([stored(f"s{number}", version)])

    began = time.perf_counter()
    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(caller, range(CALLERS)))
    return events / (time.perf_counter() - began)


async def our_append(path: Path, events: int, *, with_events: bool) -> float:
    async with SqliteEventLog(path, MemoryKeyStore()) as log:

        async def caller(number: int) -> None:
            stream = f"key-{number}"
            for version in range(events // CALLERS):
                if with_events:
                    await log.append([Append(stream, version - 1, [settled(version)])])
                else:
                    append = Append(stream, version - 1, ())
                    await log._writer.submit(  # noqa: SLF001  below the codec
                        PreparedAppend([append], [new(stream, version)], None, [append])
                    )

        began = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for number in range(CALLERS):
                tasks.create_task(caller(number))
        return events / (time.perf_counter() - began)


def library_tail(path: Path, events: int) -> float:
    recorder = SQLiteApplicationRecorder(datastore(path))
    began = time.perf_counter()
    after = 0
    while page := recorder.select_notifications(after, PAGE, inclusive_of_start=False):
        after = page[-1].id
    assert after == events, after
    return events / (time.perf_counter() - began)


def our_tail(path: Path, events: int) -> float:
    recorder = BatchRecorder(datastore(path))
    began = time.perf_counter()
    after = 0
    while page := recorder.select_page(after, PAGE):
        after = page[-1][0]
    assert after == events, after
    return events / (time.perf_counter() - began)


async def our_tail_with_events(path: Path, events: int) -> float:
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        began = time.perf_counter()
        after = 0
        while page := await log.tail(after, PAGE):
            after = page[-1].position
        assert after == events, after
        return events / (time.perf_counter() - began)


def library_projection(path: Path, events: int) -> float:
    """One transaction for each event's row and tracking, as the library projects."""
    recorder = SQLiteProcessRecorder(datastore(path))
    recorder.create_table()
    began = time.perf_counter()
    for number in range(events):
        recorder.insert_events([stored("view", number)], tracking=Tracking("up", number + 1))
    return events / (time.perf_counter() - began)


def history(events: int) -> list[RecordedEvent]:
    """Return the stream of one key: issued, then searches admitted and settled in turn.

    Each event changes a row of two views, the search's and the key's.
    """
    issued = KeyIssued(label="bench", quota=events, secret_hash="0" * 64, last4="wxyz", at=AT)
    stream: list[AnyEvent] = [issued]
    for n in range(0, events, 2):
        search = f"srch_{n}"
        stream += (
            SearchAdmitted(
                search=search, brand="Acme", query=Query("Acme"), lookup="b.1", at=AT
            ),
            settled(n),
        )
    return [RecordedEvent(n + 1, "key-1", n, event) for n, event in enumerate(stream[:events])]


def our_projection(path: Path, events: int) -> float:
    stream = history(events)
    views = ViewStore(path, projections())
    began = time.perf_counter()
    for start in range(0, events, PAGE):
        views.apply(stream[start : start + PAGE], lambda _, body: body)
    took = time.perf_counter() - began
    rows = sum(1 for _ in views.all(SEARCHES))
    assert rows == events // 2, rows  # work was done
    views.close()
    return events / took


def main(events: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows: list[tuple[str, float, float]] = []

        def row(what: str, ours: Callable[[], float], base: float) -> None:
            rows.append((what, ours(), base))

        append = library_append(folder / "library.db", events)
        row(
            f"append, {CALLERS} callers",
            lambda: asyncio.run(our_append(folder / "a.db", events, with_events=False)),
            append,
        )
        row(
            "  with events",
            lambda: asyncio.run(our_append(folder / "b.db", events, with_events=True)),
            append,
        )
        tail = library_tail(folder / "b.db", events)
        row(f"tail, pages of {PAGE}", lambda: our_tail(folder / "b.db", events), tail)
        row(
            "  with events",
            lambda: asyncio.run(our_tail_with_events(folder / "b.db", events)),
            tail,
        )
        projection = library_projection(folder / "p.db", events // 10)
        row(
            "projection, pages of 500",
            lambda: our_projection(folder / "v.db", events),
            projection,
        )
    print(f"{events} events; events/s, and the library's own recorder in the same run")
    for what, ours, base in rows:
        print(f"{what:<34}{ours:12,.0f} {base:12,.0f}  {ours / base:6.1f}x")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 32_000)
