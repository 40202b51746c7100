"""A report is the same wherever the log is kept, and says what it could not read."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from cs.eventlog.memory import MemoryEventLog
from cs.eventlog.port import EventLog
from cs.eventlog.postgres.log import PostgresEventLog
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.history.report.figures import Report
from cs.history.report.period import Period
from cs.history.report.reading import make_report
from cs.keystore.memory import MemoryKeyStore
from domain.acme_run import AT
from postgres.migrated import migrated
from projections.history import write

ALL = Period(AT, AT + timedelta(days=1))


async def written(log: EventLog, keys: MemoryKeyStore) -> Report:
    await write(log)
    return await make_report(log, keys, ALL)


@pytest.fixture
async def in_memory() -> Report:
    keys = MemoryKeyStore()
    return await written(MemoryEventLog(keys), keys)


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[tuple[SqliteEventLog, MemoryKeyStore]]:
    keys = MemoryKeyStore()
    async with SqliteEventLog(tmp_path / "log.db", keys) as log:
        yield log, keys


async def test_something_is_in_it(in_memory: Report) -> None:
    assert in_memory.searches.answered == 3
    assert in_memory.runs.finished == 3
    assert in_memory.mail.verdicts == {"unknown": 2, "deliverable": 2, "undeliverable": 2}
    assert in_memory.left_out == {}


async def test_a_file_gives_the_same(
    file: tuple[SqliteEventLog, MemoryKeyStore], in_memory: Report
) -> None:
    assert await written(*file) == in_memory


async def test_a_database_gives_the_same(database: str, in_memory: Report) -> None:
    keys = MemoryKeyStore()
    async with migrated(database) as pool, PostgresEventLog(pool, keys) as log:
        assert await written(log, keys) == in_memory


@pytest.mark.slow
async def test_one_damaged_event_is_left_out_and_told(
    file: tuple[SqliteEventLog, MemoryKeyStore], tmp_path: Path
) -> None:
    log, keys = file
    whole = await written(log, keys)
    stored = await log.stored(0)
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as database:
        change = "UPDATE stored_events SET state = ? WHERE rowid = ?"
        for each in stored:
            for state in (b'{"at": 7', b"\xff", each.state.replace(b'"box":"', b'"box":"AAAA')):
                database.execute(change, (state, each.position))

                report = await make_report(log, keys, ALL)

                left_out = report.left_out.get("damaged", 0)
                assert report.left_out == ({"damaged": left_out} if left_out else {})
                assert whole.events - 1 <= report.events + left_out <= whole.events + 1
                assert (report.events == whole.events) or left_out == 1
                database.execute(change, (each.state, each.position))


async def test_newer_and_missing_events_are_left_out_and_told(
    file: tuple[SqliteEventLog, MemoryKeyStore], tmp_path: Path
) -> None:
    log, keys = file
    await written(log, keys)
    with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as database:
        database.execute("UPDATE stored_events SET topic = 'key.new.v1' WHERE rowid = 3")
        database.execute("UPDATE stored_events SET topic = 'x' WHERE rowid = 4")
        database.execute("DELETE FROM stored_events WHERE rowid = 5")

    report = await make_report(log, keys, ALL)

    assert report.left_out == {"damaged": 1, "missing": 1, "newer": 1}
