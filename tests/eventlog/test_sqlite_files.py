"""Files that are cut, scribbled on, deleted, full or locked.

In each case: the log says what happened, gives back nothing that was not stored, loses
nothing that was answered, and goes on by itself when the reason is gone.
"""

import asyncio
import os
import random
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore

from contracts.event_log import AT, DAY, said, start, units
from cs.domain.codec import decode, encode, topic_of
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    Ceiling,
    DamagedEvent,
    EventLog,
    LogUnavailable,
    RecordedEvent,
)
from domain.golden_files import golden_events
from harness.memory_keys import MemoryKeyStore
from harness.places import around_commits, log_in

pytestmark = pytest.mark.slow

PAGE = 4096


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Any]:
    async with log_in(path.parent, MemoryKeyStore(), lock_timeout_s=1) as log:
        yield log


async def everything(log: EventLog) -> list[RecordedEvent]:
    found: list[RecordedEvent] = []
    while page := await log.tail(len(found)):
        found += page
    return found


async def filled(path: Path, streams: int = 40, events: int = 25) -> list[RecordedEvent]:
    """Return what a new log at *path* holds; its file is some 30 pages."""
    async with opened(path) as log:
        for n in range(streams):
            await log.append([Append(f"key-{n}", NO_STREAM, units(*range(events)))])
        return await everything(log)


# A file that was cut.


def size_of(path: Path) -> int:
    return path.stat().st_size


@pytest.mark.parametrize("left", [512, PAGE - 1, PAGE, 5 * PAGE + 7])
async def test_a_file_that_was_cut_is_reported_when_it_is_opened(path: Path, left: int) -> None:
    await filled(path)
    os.truncate(path, left)

    with pytest.raises(LogUnavailable, match=r"could not be opened: it is damaged"):
        async with opened(path):
            pass
    assert size_of(path) == left  # and left to be repaired


@pytest.mark.parametrize("left", [0, 1, 100, 511])
async def test_an_emptied_file_is_not_begun_again(path: Path, left: int) -> None:
    await filled(path)
    os.truncate(path, left)

    with pytest.raises(LogUnavailable, match=f"holds {left} bytes, fewer than any log"):
        async with opened(path):
            pass
    assert size_of(path) == left


async def test_a_file_that_is_cut_under_the_log_is_reported_and_not_read_for_ever(
    path: Path,
) -> None:
    await filled(path)
    async with opened(path) as log:
        await log.append([Append("key-x", NO_STREAM, units(1))])
        os.truncate(path, 3 * PAGE)

        with pytest.raises(LogUnavailable):
            await everything(log)


# Pages that were scribbled on.


@pytest.mark.parametrize("damage", ["noise", "zeros"])
async def test_of_a_scribbled_page_only_what_was_stored_is_read_or_it_is_reported(
    path: Path, damage: str
) -> None:
    stored = await filled(path)
    streams = {name: [r for r in stored if r.stream == name] for name in ("key-0", "key-39")}
    pages = reported = 0
    for _ in scribbled(path, damage):
        pages += 1
        try:
            async with opened(path) as log:
                for name, events in streams.items():
                    try:
                        assert await log.read(name) == events
                    except LogUnavailable:
                        reported += 1
                assert await everything(log) == stored
        except LogUnavailable:
            reported += 1

    assert pages > 20
    assert reported >= pages / 2  # all but the index pages of other streams


def scribbled(path: Path, damage: str) -> Iterator[None]:
    """Spoil each page of the file in turn, the others whole."""
    whole, noise = path.read_bytes(), random.Random(7)
    for at in range(0, len(whole), PAGE):
        scribble = noise.randbytes(PAGE) if damage == "noise" else bytes(PAGE)
        path.write_bytes(whole[:at] + scribble + whole[at + PAGE :])
        yield


@pytest.mark.parametrize(
    ("change", "stream"),
    [
        ("topic = CAST(x'6b65792eff' AS TEXT)", "key-1"),
        ("topic = 'key.quota' || char(1) || 'granted.v1'", "key-1"),
        ("topic = ''", "key-1"),
        ("topic = x'6b65'", "key-1"),
        ("originator_id = CAST(x'6b65792dff' AS TEXT)", ""),
    ],
)
async def test_a_damaged_topic_or_stream_holds_up_no_other(
    path: Path, change: str, stream: str
) -> None:
    await filled(path, streams=3, events=2)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE stored_events SET {change} WHERE rowid = 4")

    async with opened(path) as log:
        with pytest.raises(DamagedEvent) as damaged:
            await log.tail(0)
        assert (damaged.value.position, damaged.value.stream) == (4, stream)
        assert said(await log.tail(0, 3)) == [0, 1, 0]
        assert said(await log.tail(4)) == [0, 1]
        assert said(await log.read("key-2")) == [0, 1]

        with closing(sqlite3.connect(path)) as database, database:
            database.execute(
                "UPDATE stored_events SET topic = 'key.quota-granted.v1', "
                "originator_id = 'key-1' WHERE rowid = 4"
            )
        assert said(await log.tail(0)) == [0, 1, 0, 1, 0, 1]


# Files that go away.


@pytest.mark.parametrize("gone", ["log.db", "log.db-wal"])
async def test_nothing_is_answered_from_files_that_were_moved(path: Path, gone: str) -> None:
    async with opened(path) as log:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        file = path.with_name(gone)
        file.rename(file.with_name("elsewhere"))

        for _ in range(2):
            with pytest.raises(LogUnavailable, match=f"{gone} was deleted or replaced"):
                await log.append([Append("key-a", 0, units(2))])

        file.with_name("elsewhere").rename(file)
        assert await log.append([Append("key-a", 0, units(2))]) == 2
    async with opened(path) as log:
        assert said(await log.tail(0)) == [1, 2]


async def test_what_was_answered_is_saved_when_only_the_wal_was_deleted(path: Path) -> None:
    async with opened(path) as log:
        await log.append([Append("key-a", NO_STREAM, units(1, 2))])
        path.with_name("log.db-wal").unlink()
        with pytest.raises(LogUnavailable):
            await log.append([Append("key-a", 1, units(3))])

    async with opened(path) as log:
        assert said(await log.tail(0)) == [1, 2]
        assert await log.append([Append("key-a", 1, units(3))]) == 3


async def test_a_file_that_goes_during_a_commit_leaves_it_in_doubt_not_answered(
    path: Path,
) -> None:
    async with opened(path) as log:
        gone = pytest.raises(LogUnavailable, match=r"log\.db was deleted or replaced")
        with around_commits(after=path.unlink), gone:
            await log.append([Append("key-a", NO_STREAM, units(1))])


def test_a_folder_with_marks_of_a_uri_in_its_name_holds_its_own_log(tmp_path: Path) -> None:
    path = tmp_path / "50%20 off?mode=memory#1" / "log.db"
    path.parent.mkdir()

    asyncio.run(filled(path, streams=1, events=2))

    assert sorted(file.name for file in tmp_path.iterdir()) == [path.parent.name]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT COUNT(*) FROM stored_events").fetchone() == (2,)


# What others read and write.


async def test_the_library_reads_what_we_wrote_and_we_what_it_wrote(path: Path) -> None:
    events = golden_events("key")
    library = SQLiteApplicationRecorder(
        SQLiteDatastore(path.as_uri(), originator_id_type="text")
    )
    async with opened(path) as log:
        await log.append([Append("key-a", NO_STREAM, events[:-1])])
        stored = library.select_events("key-a")
        assert [decode(each.topic, each.state) for each in stored] == events[:-1]
        notified = library.select_notifications(1, 100)
        assert [each.id for each in notified] == list(range(1, len(events)))

        last = StoredEvent("key-a", len(events) - 1, topic_of(events[-1]), encode(events[-1]))
        assert library.insert_events([last]) == [len(events)]
        assert [each.event for each in await log.read("key-a")] == events
    library.datastore.close()


@pytest.mark.parametrize("state", ["x'ff'", "CAST(x'ff7b' AS TEXT)"])
async def test_a_damaged_start_counts_as_the_next_one(path: Path, state: str) -> None:
    async with opened(path) as log:
        for n in range(3):
            await start(log, n, AT + timedelta(hours=n), None)
        with closing(sqlite3.connect(path)) as other, other:
            other.executescript(
                "DROP INDEX lookup_started_any;"
                f"UPDATE stored_events SET state = {state} WHERE rowid = 2"
            )

        now = AT + timedelta(hours=3)
        opens = [await log.ceiling_opens_at(Ceiling(now, n)) for n in (1, 2, 3, 4)]

    newest = AT + timedelta(hours=2) + DAY
    assert opens == [newest, newest, AT + DAY, None]


# A process without room for more files.


async def test_a_process_out_of_file_descriptors_writes_again_when_it_has_some(
    path: Path,
) -> None:
    async with opened(path) as log:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        pool = log._recorder.datastore.pool
        busy = [pool.get_connection() for _ in range(pool.num_in_pool)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            with pytest.raises(LogUnavailable, match="unable to open database file"):
                await log.append([Append("key-a", 0, units(2))])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for connection in busy:
            pool.put_connection(connection)

        assert await log.append([Append("key-a", 0, units(2))]) == 2


# Another process that holds the log.


async def test_connections_that_were_opened_on_a_read_only_disk_are_not_kept(
    path: Path,
) -> None:
    async with opened(path) as log:
        datastore = log._recorder.datastore
        writable = datastore.pool.db_name
        datastore.pool.db_name = f"{writable}?mode=ro"
        with ExitStack() as readers:  # SQLite falls back to reading, and stays so
            for _ in range(4):
                readers.enter_context(datastore.get_connection(commit=False))
        datastore.pool.db_name = writable
        refused = list[str]()
        for number in range(8):
            try:
                await log.append([Append(f"key-{number}", NO_STREAM, units(number))])
            except LogUnavailable as error:
                refused.append(str(error))
        assert ["readonly database" in each for each in refused] == [True] * 3, "once each"
        await log.check_writes()
        assert await log.head() == 8 - len(refused)


async def test_an_append_waits_for_another_process_s_transaction(path: Path) -> None:
    async with opened(path) as log:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            appending = asyncio.create_task(log.append([Append("key-a", NO_STREAM, units(1))]))
            await log.head()  # reading is not held up
            assert not appending.done()
            other.execute("COMMIT")

            async with asyncio.timeout(10):
                assert await appending == 1


async def test_a_lock_held_too_long_is_reported_and_the_log_goes_on_when_it_is_let_go(
    path: Path,
) -> None:
    async with opened(path) as log:
        await log.append([Append("key-a", NO_STREAM, units(1))])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answers = await asyncio.gather(
                *(log.append([Append(f"key-{n}", NO_STREAM, units(n))]) for n in range(5)),
                return_exceptions=True,
            )
            why = "another process has held its lock too long (database is locked)"
            assert {str(answer) for answer in answers} == {f"the log could not write: {why}"}
            checks = (log.check_writes() for _ in range(20))
            refused = await asyncio.gather(*checks, return_exceptions=True)
            assert len({*map(id, refused)}) == 1, "one of them holds a connection"
            assert isinstance(refused[0], LogUnavailable)
            assert said(await log.read("key-a")) == [1]  # reading goes on
            other.execute("COMMIT")

        assert await log.append([Append("key-a", 0, units(2))]) == 2
        assert await log.head() == 2
