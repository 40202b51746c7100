"""The numbered starts behind the ceiling: whatever happens to them, the log knows them."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from contracts.event_log import AT, said, units
from contracts.event_log_ceiling import start
from cs.eventlog.errors import CeilingReached
from cs.eventlog.lookup_starts import LookupStarts
from cs.eventlog.port import NO_STREAM, Append, Ceiling
from cs.eventlog.sqlite import SqliteEventLog
from harness.memory_keys import MemoryKeyStore

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
#: What can be lost of the table: all of it, its rows, the newest, the oldest, some between.
LOST = [
    "DROP TABLE lookup_starts",
    "DROP TABLE lookup_starts; DROP INDEX lookup_started_any",
    "DELETE FROM lookup_starts",
    "DELETE FROM lookup_starts WHERE number > 2",
    "DELETE FROM lookup_starts WHERE number < 3",
    "DELETE FROM lookup_starts WHERE number = 3",
    "UPDATE lookup_starts SET started_at = 0",
    "UPDATE lookup_starts SET number = number + 10",
    "INSERT INTO lookup_starts (started_at) VALUES (0)",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


async def started(path: Path, *hours: float) -> None:
    """Start a lookup at each of *hours* after `AT`, other events between them."""
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        for n, hour in enumerate(hours):
            await log.append([Append(f"key-{n}", NO_STREAM, units(n))])
            await start(log, n, AT + hour * HOUR, None)


async def test_starts_of_later_versions_count_also_where_they_cannot_be_read(
    path: Path,
) -> None:
    await started(path, 0, 1, 2)
    before = _starts(path)
    _sql(
        path,
        "UPDATE stored_events SET topic = 'brand.lookup-started.v2' WHERE rowid = 4;"
        "DELETE FROM lookup_starts",
    )

    assert await _rebuilt(path) == [3]

    assert _starts(path) == before


async def test_a_log_with_the_index_of_the_first_version_gets_the_other(path: Path) -> None:
    await started(path, 0)
    _sql(
        path,
        "DROP INDEX lookup_started_any; CREATE INDEX lookup_started ON stored_events (topic) "
        "WHERE topic = 'brand.lookup-started.v1'",
    )

    assert await _rebuilt(path) == []

    with closing(sqlite3.connect(path)) as log:
        indexes = {row[1] for row in log.execute("PRAGMA index_list(stored_events)")}
    assert "lookup_started_any" in indexes
    assert "lookup_started" not in indexes


def _sql(path: Path, statements: str) -> None:
    with closing(sqlite3.connect(path)) as log:
        log.executescript(statements)


def _starts(path: Path) -> Sequence[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as log:
        return log.execute("SELECT * FROM lookup_starts ORDER BY number").fetchall()


async def _rebuilt(path: Path) -> list[int]:
    """Return of how many starts the table was made anew as the log was opened."""
    with capture_logs() as lines:
        async with SqliteEventLog(path, MemoryKeyStore()):
            pass
    return [line["starts"] for line in lines if line["event"] == "lookup_starts_rebuilt"]


@pytest.mark.parametrize("lost", LOST)
async def test_starts_that_were_lost_are_made_anew_from_the_log(path: Path, lost: str) -> None:
    await started(path, 0, 1, 2, 3, 4)
    before = _starts(path)
    _sql(path, lost)

    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        assert _starts(path) == before
        with pytest.raises(CeilingReached) as reached:
            await start(log, 9, AT + 5 * HOUR, 4)
        assert reached.value.opens_at == AT + HOUR + DAY
        await start(log, 9, AT + 5 * HOUR, 6)
        assert await log.ceiling_opens_at(Ceiling(AT + 6 * HOUR, 6)) == AT + DAY

    assert [number for number, _ in _starts(path)] == [1, 2, 3, 4, 5, 6]


async def test_only_what_still_counts_is_made_anew_and_keeps_its_number(path: Path) -> None:
    await started(path, 0, 1, 30, 31, 54.5)
    before = _starts(path)
    _sql(path, "DELETE FROM lookup_starts")

    assert await _rebuilt(path) == [2]

    assert _starts(path) == before[-2:]
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        at = AT + 54.6 * HOUR
        assert await log.ceiling_opens_at(Ceiling(at, 2)) == AT + 31 * HOUR + DAY
        assert await log.ceiling_opens_at(Ceiling(at, 3)) is None


async def test_a_table_that_is_whole_is_left_alone(path: Path) -> None:
    assert await _rebuilt(path) == []
    await started(path, 0, 1, 30, 31, 54.5)
    assert await _rebuilt(path) == []

    _sql(path, "DELETE FROM lookup_starts WHERE number < 4")  # these count no more
    assert await _rebuilt(path) == []


async def test_a_table_is_made_anew_once(path: Path) -> None:
    await started(path, 0, 1)
    _sql(path, "DELETE FROM lookup_starts")

    assert await _rebuilt(path) == [2]
    assert await _rebuilt(path) == []


async def test_a_damaged_start_keeps_nobody_from_the_rest_of_the_log(path: Path) -> None:
    await started(path, 0, 1, 2)
    _sql(
        path, "UPDATE stored_events SET state = x'ff' WHERE rowid = 4; DROP TABLE lookup_starts"
    )

    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        assert [number for number, _ in _starts(path)] == [1, 3]
        assert said(await log.read("key-2")) == [2]
        assert await log.ceiling_opens_at(Ceiling(AT + 3 * HOUR, 1)) == AT + 2 * HOUR + DAY


async def test_the_second_who_opens_the_log_finds_them_made_anew(path: Path) -> None:
    await started(path, 0, 1, 2)
    before = _starts(path)
    _sql(path, "DROP TABLE lookup_starts")

    with capture_logs() as lines:
        async with (
            SqliteEventLog(path, MemoryKeyStore()) as one,
            SqliteEventLog(path, MemoryKeyStore()) as other,
        ):
            await start(one, 3, AT + 3 * HOUR, None)
            assert await other.ceiling_opens_at(Ceiling(AT + 4 * HOUR, 4)) == AT + DAY

    assert [line["event"] for line in lines] == ["lookup_starts_rebuilt"]
    assert _starts(path)[:3] == before


async def test_finding_the_starts_reads_no_other_event(path: Path) -> None:
    """However many other events there are: SQLite goes by an index of the starts alone."""
    await started(path, 0)
    with closing(sqlite3.connect(path)) as log:
        counted = f"SELECT COUNT(*) {LookupStarts('stored_events')._logged}"
        plan = log.execute(f"EXPLAIN QUERY PLAN {counted}").fetchall()

    assert [row[-1] for row in plan] == [
        "SEARCH stored_events USING COVERING INDEX lookup_started_any (topic>? AND topic<?)"
    ]


async def test_starts_that_count_no_more_are_removed_as_new_ones_come(path: Path) -> None:
    await started(path, *range(10))
    await started_again(path, 100, 101, 102)
    numbers = [number for number, _ in _starts(path)]
    assert numbers == [11, 12, 13], "the ten old ones, four with each new one"

    await started_again(path, 103, 104, 148.5, 150)

    assert [number for number, _ in _starts(path)] == [14, 15, 16, 17]
    assert await _rebuilt(path) == []
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        at = AT + 151 * HOUR
        assert await log.ceiling_opens_at(Ceiling(at, 2)) == AT + 148.5 * HOUR + DAY
        assert await log.ceiling_opens_at(Ceiling(at, 3)) is None


async def started_again(path: Path, *hours: float) -> None:
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        for hour in hours:
            await start(log, int(hour * 10) + 1_000, AT + hour * HOUR, None)
