"""The daily ceiling in SQLite is read from the log itself, whatever became of its events."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from contracts.event_log import AT, units
from contracts.event_log_ceiling import start
from cs.eventlog import sqlite as sqlite_log
from cs.eventlog.port import NO_STREAM, Append, Ceiling, CeilingReached
from cs.eventlog.sqlite import SqliteEventLog
from harness.memory_keys import MemoryKeyStore

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


async def started(path: Path, *hours: float) -> None:
    """Start a lookup at each of *hours* after `AT`, other events between them."""
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        for n, hour in enumerate(hours):
            await log.append([Append(f"key-{n}", NO_STREAM, units(n))])
            await start(log, n, AT + hour * HOUR, None)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE stored_events SET topic = 'brand.lookup-started.v2' WHERE rowid IN (4, 6)",
        "DROP INDEX lookup_started_any",
    ],
    ids=["of a later version, which cannot be read", "without its index"],
)
async def test_every_start_counts(tmp_path: Path, change: str) -> None:
    path = tmp_path / "log.db"
    await started(path, 0, 1, 2)
    with closing(sqlite3.connect(path)) as log:
        log.executescript(change)

    async with SqliteEventLog(path, MemoryKeyStore()) as events:
        for limit in (1, 2, 3):
            with pytest.raises(CeilingReached) as reached:
                await start(events, 9, AT + 3 * HOUR, limit)
            assert reached.value.opens_at == AT + (3 - limit) * HOUR + DAY
        await start(events, 9, AT + 3 * HOUR, 4)


@pytest.mark.parametrize("state", ["x'ff'", "CAST(x'ff7b' AS TEXT)"])
async def test_a_damaged_start_counts_as_the_next_one(tmp_path: Path, state: str) -> None:
    path = tmp_path / "log.db"
    await started(path, 0, 1, 2)
    with closing(sqlite3.connect(path)) as log:
        log.executescript(f"UPDATE stored_events SET state = {state} WHERE rowid = 4")

    async with SqliteEventLog(path, MemoryKeyStore()) as events:
        opens = [await events.ceiling_opens_at(Ceiling(AT + 3 * HOUR, n)) for n in (1, 2, 3, 4)]

    assert opens == [AT + 2 * HOUR + DAY, AT + 2 * HOUR + DAY, AT + DAY, None]


async def test_finding_the_start_that_decides_reads_no_other_event(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    await started(path, 0)
    with closing(sqlite3.connect(path)) as log:
        plan = log.execute(f"EXPLAIN QUERY PLAN {sqlite_log._START}", (5,)).fetchall()

    assert [row[-1] for row in plan] == [
        "SEARCH stored_events USING INDEX lookup_started_any (topic>? AND topic<?)"
    ]
