import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping
from functools import partial
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent

from contracts.event_log import EventLogContract, said, units
from contracts.event_log_ceiling import CeilingContract
from contracts.event_log_people import PeopleContract
from cs.domain.brand.events import LookupFinished
from cs.domain.codec import decode, encode, topic_of
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable
from cs.eventlog.sqlite import BatchRecorder, SqliteEventLog
from cs.keystore.sqlite import SqliteKeyStore
from domain.golden_files import golden_event, golden_events
from eventlog.restarted_log import Open, RestartedLogContract
from harness.memory_keys import MemoryKeyStore

#: What stands in the golden events and may stand in no file: people, never companies.
ABOUT_PEOPLE = (
    "Quillfeather",
    "quillfeather",
    "Thistlewood",
    "thistlewood",
    "Zoë",
    "Head of Influencer",
    "Social Media Manager",
    "linkedin.com/in/",
    "Ouagadougou",
    "@acme.example",
    "550 5.1.1",
    "RCPT TO",
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
async def log(path: Path, keys: MemoryKeyStore) -> AsyncIterator[SqliteEventLog]:
    async with SqliteEventLog(path, keys) as log:
        yield log


class TestSqliteEventLog(
    EventLogContract, CeilingContract, PeopleContract, RestartedLogContract
):
    @pytest.fixture
    def opened(self, path: Path) -> Open:
        return partial(SqliteEventLog, path)


# Another process on the same file.


async def test_two_processes_that_write_at_once_lose_nothing_and_agree_on_the_order(
    path: Path, keys: MemoryKeyStore, log: SqliteEventLog
) -> None:
    async with SqliteEventLog(path, keys) as other:
        await asyncio.gather(
            *(log.append([Append(f"key-a{n}", NO_STREAM, units(n))]) for n in range(50)),
            *(other.append([Append(f"key-b{n}", NO_STREAM, units(n))]) for n in range(50)),
        )
        async with asyncio.timeout(1):
            await asyncio.gather(log.grown(99), other.grown(99))

        streams = await _streams(log)
        assert streams == await _streams(other)
        assert len(streams) == 100


async def _streams(log: SqliteEventLog) -> list[str]:
    """Return whose events there are, read in small pages."""
    found: list[str] = []
    while page := await log.tail(len(found), 7):
        assert [r.position for r in page] == list(
            range(len(found) + 1, len(found) + 1 + len(page))
        )
        found += [r.stream for r in page]
    return found


async def test_an_append_waits_for_another_process_s_transaction(
    path: Path, log: SqliteEventLog
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        appending = asyncio.create_task(log.append([Append("key-a", NO_STREAM, units(1))]))
        await log.head()  # reading is not held up
        assert not appending.done()
        other.execute("COMMIT")

        async with asyncio.timeout(10):
            assert await appending == 1
    finally:
        other.close()


# Personal values on the disk.


async def test_no_byte_of_any_file_tells_who_was_found(tmp_path: Path) -> None:
    events = golden_events("brand")
    async with (
        SqliteKeyStore(tmp_path / "keys.db", b"m" * 32) as keys,
        SqliteEventLog(tmp_path / "log.db", keys) as log,
    ):
        await log.append([Append("brand-5f0c", NO_STREAM, events)])
        assert [r.event for r in await log.read("brand-5f0c")] == events

        files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}  # noqa: ASYNC240

    assert {"log.db", "log.db-wal", "keys.db", "keys.db-wal"} <= set(files)
    assert b"linkedin.com/company/acme" in files["log.db-wal"] + files["log.db"]
    told = [
        (name, text)
        for name, data in files.items()
        for text in ABOUT_PEOPLE
        if text.encode() in data
    ]
    assert told == []


class WatchedKeys(MemoryKeyStore):
    """Notes how many events the log held when a key was first made."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self.stored_before: dict[str, int] = {}

    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]:
        wanted = tuple(names)
        with sqlite3.connect(self._path) as database:
            (stored,) = database.execute("SELECT COUNT(*) FROM stored_events").fetchone()
        database.close()
        for name in wanted:
            self.stored_before.setdefault(name, stored)
        return await super().ensure(wanted)


async def test_a_key_is_durable_before_the_event_it_opens(path: Path) -> None:
    keys = WatchedKeys(path)
    finished = golden_event("brand.lookup-finished.v1")
    assert isinstance(finished, LookupFinished)
    async with SqliteEventLog(path, keys) as log:
        await log.append([Append("brand-5f0c", NO_STREAM, [finished])])

    assert keys.stored_before == {f"{finished.lookup}#p1": 0, f"{finished.lookup}#p2": 0}


# Out of order.


async def test_a_log_that_cannot_be_written_says_so_and_goes_on_when_it_can(
    path: Path, log: SqliteEventLog
) -> None:
    with sqlite3.connect(path) as other:
        other.execute("ALTER TABLE stored_events RENAME TO away")
    with pytest.raises(LogUnavailable, match="stored_events"):
        await log.append([Append("key-a", NO_STREAM, units(1))])
    with pytest.raises(LogUnavailable):
        await log.read("key-a")

    other.execute("ALTER TABLE away RENAME TO stored_events")
    other.close()

    assert await log.append([Append("key-a", NO_STREAM, units(1))]) == 1
    assert said(await log.read("key-a")) == [1]


async def test_the_library_reads_what_we_wrote_and_we_what_it_wrote(path: Path) -> None:
    events = golden_events("key")
    recorder = BatchRecorder.at(path.as_uri(), 1)
    async with SqliteEventLog(path, MemoryKeyStore()) as log:
        await log.append([Append("key-a", NO_STREAM, events[:-1])])
        stored = recorder.select_events("key-a")
        assert [decode(each.topic, each.state) for each in stored] == events[:-1]
        notified = recorder.select_notifications(1, 100)
        assert [each.id for each in notified] == list(range(1, len(events)))

        last = StoredEvent("key-a", len(events) - 1, topic_of(events[-1]), encode(events[-1]))
        assert recorder.insert_events([last]) == [len(events)]
        assert [each.event for each in await log.read("key-a")] == events
    recorder.datastore.close()
