"""Files that are cut, scribbled on, deleted, full, locked or not ours to write.

In each case: the log says what happened, gives back nothing that was not stored, loses
nothing that was answered, and goes on by itself when the reason is gone.

Run as a program this file is the process whose disk is full or who lacks a right.
"""

import asyncio
import json
import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Cursor

import pytest

from cs.domain.codec import AnyEvent
from cs.domain.key import QuotaGranted
from cs.eventlog.damage import DamagedStreams, UnreadableEvent, read_past
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable, RecordedEvent
from cs.eventlog.sqlite import BatchRecorder, SqliteEventLog
from cs.eventlog.table_log import PreparedAppend
from cs.keystore.sqlite import SqliteKeyStore
from cs.projections.catalogue import projections
from cs.projections.runner import ViewRunner
from cs.projections.set_aside import ASIDE, SET_ASIDE
from cs.projections.sqlite import SqliteViewDatabase
from cs.projections.usage import USAGE
from cs.projections.views import Views
from domain.golden_files import golden_event
from harness.memory_keys import MemoryKeyStore
from projections.stored import table_of

pytestmark = pytest.mark.slow

AT = datetime(2026, 1, 1, tzinfo=UTC)
PAGE = 4096


def units(*numbers: int) -> list[AnyEvent]:
    return [QuotaGranted(units=number, at=AT) for number in numbers]


def said(recorded: Sequence[RecordedEvent]) -> list[int]:
    return [r.event.units for r in recorded if isinstance(r.event, QuotaGranted)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteEventLog]:
    async with SqliteEventLog(path, MemoryKeyStore(), lock_timeout_s=1) as log:
        yield log


async def everything(log: SqliteEventLog) -> list[RecordedEvent]:
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
    assert size_of(path) == left  # and left to whoever mends it


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
    pages = told = 0
    for _ in scribbled(path, damage):
        pages += 1
        try:
            async with opened(path) as log:
                for name, events in streams.items():
                    try:
                        assert await log.read(name) == events
                    except LogUnavailable:
                        told += 1
                assert await everything(log) == stored
        except LogUnavailable:
            told += 1

    assert pages > 20
    assert told >= pages / 2  # all but the index pages of other streams


def scribbled(path: Path, damage: str) -> Iterator[None]:
    """Spoil each page of the file in turn, the others whole."""
    whole, noise = path.read_bytes(), random.Random(7)
    for start in range(0, len(whole), PAGE):
        scribble = noise.randbytes(PAGE) if damage == "noise" else bytes(PAGE)
        path.write_bytes(whole[:start] + scribble + whole[start + PAGE :])
        yield


@pytest.mark.parametrize(
    "state",
    [
        b"\xff",
        b"",
        b"{}",
        b'{"units":',
        b"[]",
        b"7",
        None,
        b'["sealed"]',
        b'{"sealed":' * 5_000,
        b'{"units":1,"by":"Jo\xff Lane"}',
    ],
)
async def test_an_event_that_cannot_be_decoded_is_named_and_the_others_are_read(
    path: Path, state: bytes | None
) -> None:
    await filled(path, streams=3, events=2)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE stored_events SET state = ? WHERE rowid = 4", (state,))

    async with opened(path) as log:
        with pytest.raises(LogUnavailable, match="event 4, key-1 version 1, is dam") as told:
            await log.tail(0)
        assert "Lane" not in str(told.value)  # which is logged
        with pytest.raises(LogUnavailable, match="event 4, key-1 version 1, is damaged"):
            await log.read("key-1")
        assert said(await log.tail(0, 3)) == [0, 1, 0]
        assert said(await log.read("key-2")) == [0, 1]


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
async def test_a_topic_or_stream_that_nobody_wrote_holds_up_nobody_else(
    path: Path, change: str, stream: str
) -> None:
    await filled(path, streams=3, events=2)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"UPDATE stored_events SET {change} WHERE rowid = 4")

    async with opened(path) as log:
        set_aside = DamagedStreams(log)
        found: list[RecordedEvent] = []
        while page := await read_past(log, len(found), set_aside=set_aside):
            found += page
        assert said(found) == [0, 1, 0, 0, 1]
        gap = found[3]
        assert isinstance(gap, UnreadableEvent)
        assert gap.stream == stream
        assert said(await log.read("key-2")) == [0, 1]

        with closing(sqlite3.connect(path)) as database, database:
            database.execute(
                "UPDATE stored_events SET topic = 'key.quota-granted.v1', "
                "originator_id = 'key-1' WHERE rowid = 4"
            )
        assert said(await log.tail(0)) == [0, 1, 0, 1, 0, 1]


async def test_a_sealed_value_that_changed_is_named(path: Path) -> None:
    keys = MemoryKeyStore()
    async with SqliteEventLog(path, keys) as log:
        await log.append(
            [Append("brand-a", NO_STREAM, [golden_event("brand.people-found.v1")])]
        )
    with closing(sqlite3.connect(path)) as database, database:
        (state,) = database.execute("SELECT state FROM stored_events").fetchone()
        before, mark, box = state.partition(b'"box":"')
        changed = before + mark + (b"B" if box[:1] == b"A" else b"A") + box[1:]
        database.execute("UPDATE stored_events SET state = ?", (changed,))

    async with SqliteEventLog(path, keys) as log:
        with pytest.raises(LogUnavailable, match="event 1, brand-a version 0, is damaged"):
            await log.tail(0)


async def test_an_event_that_is_missing_is_reported_and_never_skipped(path: Path) -> None:
    await filled(path, streams=2, events=3)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM stored_events WHERE rowid = 2")

    async with opened(path) as log:
        with pytest.raises(LogUnavailable, match="an event of key-0 is missing"):
            await log.read("key-0")
        with pytest.raises(LogUnavailable, match="an event after 0 is missing"):
            await log.tail(0)
        assert said(await log.tail(2)) == [2, 0, 1, 2]


async def test_events_that_go_from_the_end_under_the_log_are_reported(path: Path) -> None:
    await filled(path, streams=1, events=3)
    async with opened(path) as log:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("DELETE FROM stored_events WHERE rowid = 3")

        with pytest.raises(LogUnavailable, match="an event after 2 is missing"):
            await log.tail(2)


async def test_keys_that_cannot_be_read_or_stored_make_the_log_unavailable(
    tmp_path: Path, path: Path
) -> None:
    found = golden_event("brand.people-found.v1")
    async with (
        SqliteKeyStore(tmp_path / "keys.db", b"m" * 32) as keys,
        SqliteEventLog(path, keys) as log,
    ):
        await log.append([Append("brand-a", NO_STREAM, [found])])
        keys.forget()
        with closing(sqlite3.connect(tmp_path / "keys.db")) as database:
            database.execute("ALTER TABLE data_key RENAME TO away")
            with pytest.raises(LogUnavailable, match="data keys could not be read"):
                await log.read("brand-a")
            with pytest.raises(LogUnavailable, match="data keys could not be stored"):
                await log.append([Append("brand-b", NO_STREAM, [found])])
            database.execute("ALTER TABLE away RENAME TO data_key")

        assert [r.event for r in await log.read("brand-a")] == [found]
        assert await log.append([Append("brand-b", NO_STREAM, [found])]) == 2


# Files that go away.


@pytest.mark.parametrize("gone", ["log.db", "log.db-wal"])
async def test_nothing_is_answered_from_files_that_nobody_will_find(
    path: Path, gone: str
) -> None:
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
    class Vanishing(BatchRecorder):
        def _commit(self, cursor: Cursor) -> None:
            super()._commit(cursor)
            path.unlink()

    async with SqliteEventLog(path, MemoryKeyStore(), recorder=Vanishing) as log:
        with pytest.raises(LogUnavailable, match=r"log\.db was deleted or replaced"):
            await log.append([Append("key-a", NO_STREAM, units(1))])


async def test_a_killed_process_s_wal_is_taken_up_and_without_it_the_rest_is_whole(
    path: Path,
) -> None:
    ran = child("die-after-answers", path)
    assert ran.returncode == 9
    answered = json.loads(ran.stdout)
    copy = path.with_name("without-wal.db")
    shutil.copyfile(path, copy)

    async with opened(path) as log:
        assert said(await log.tail(0)) == answered
    async with opened(copy) as log:  # older, never wrong
        rest = said(await log.tail(0))
        assert rest == answered[: len(rest)]


def test_a_folder_with_marks_of_a_uri_in_its_name_holds_its_own_log(tmp_path: Path) -> None:
    path = tmp_path / "50%20 off?mode=memory#1" / "log.db"
    path.parent.mkdir()

    asyncio.run(filled(path, streams=1, events=2))

    assert sorted(file.name for file in tmp_path.iterdir()) == [path.parent.name]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT COUNT(*) FROM stored_events").fetchone() == (2,)


# A disk that is full.


def test_a_full_disk_is_reported_loses_nothing_and_ends_by_itself(path: Path) -> None:
    ran = child("fill-the-disk", path)

    assert ran.stderr == ""
    told = json.loads(ran.stdout)
    assert (
        told["why"]
        == "the log could not write: the disk is full or has failed (disk I/O error)"
    )
    assert told["answered"] > 20
    assert told["read_while_full"] == told["answered"]
    assert told["position_after"] == told["answered"] + 1
    assert asyncio.run(_count(path)) == told["answered"] + 1


async def test_a_log_at_its_greatest_size_says_that_the_disk_is_full_and_goes_on(
    path: Path,
) -> None:
    class Small(BatchRecorder):
        pages = 12

        def _write_all(
            self, cursor: Cursor, requests: Sequence[PreparedAppend]
        ) -> list[int | Exception]:
            cursor.execute(f"PRAGMA max_page_count={self.pages}")
            return super()._write_all(cursor, requests)

    async with SqliteEventLog(path, MemoryKeyStore(), recorder=Small) as log:
        answered = 0

        async def fill() -> None:
            nonlocal answered
            while True:
                await log.append([Append("key-a", answered - 1, units(*range(20)))])
                answered += 20

        with pytest.raises(LogUnavailable, match=r"the disk is full \(database or disk is"):
            await fill()
        assert len(await log.read("key-a")) == await log.head() == answered

        Small.pages = 1000
        assert await log.append([Append("key-a", answered - 1, units(1))]) == answered + 1


async def _count(path: Path) -> int:
    async with opened(path) as log:
        return len(await everything(log))


# Rights.


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_log_that_may_not_be_written_is_reported(what: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "log.db"
        asyncio.run(filled(path, streams=1))
        with readable_only(folder, *([path] if what == "file" else [])):
            ran = child("write-without-the-right", path)

        assert ran.stderr == ""
        if what == "file" and os.getuid():
            # A file of its own is made writable for its owner (0600), as all data files are.
            assert ran.stdout == ""
            assert asyncio.run(_count(path)) > 25
            return
        assert ran.stdout.startswith("the log could not ")
        # SQLite's words, or those of whoever makes the file its owner's before.
        told = ("this user may not write", "cannot be opened", "Permission denied")
        assert any(why in ran.stdout for why in told)
        assert asyncio.run(_count(path)) == 25


@contextmanager
def readable_only(folder: Path, *files: Path) -> Iterator[None]:
    folder.chmod(0o777 if files else 0o555)
    for file in files:
        file.chmod(0o444)
    yield
    folder.chmod(0o700)


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
            assert said(await log.read("key-a")) == [1]  # reading goes on
            other.execute("COMMIT")

        assert await log.append([Append("key-a", 0, units(2))]) == 2
        assert await log.head() == 2


# Views: anything may happen to them, the log has it all.


@dataclass
class RunningViews:
    log: SqliteEventLog
    views: Views
    runner: ViewRunner
    database: SqliteViewDatabase

    async def quotas(self) -> dict[str, int]:
        return {key: row.quota for key, row in await self.views.all(USAGE)}


@asynccontextmanager
async def followed(folder: Path) -> AsyncIterator[RunningViews]:
    """Yield a log of 300 keys, and views of it that follow it."""
    async with opened(folder / "log.db") as log:
        if await log.head() == 0:
            issued = golden_event("key.issued.v1")
            await log.append([Append(f"key-{n}", NO_STREAM, [issued]) for n in range(300)])
        async with AsyncExitStack() as stack:
            database = SqliteViewDatabase(folder / "views.db")
            views = Views(database, projections())
            stack.push_async_callback(views.close)
            runner = ViewRunner(log, views, MemoryKeyStore())
            await runner.catch_up()
            yield RunningViews(log, views, runner, database)


async def test_views_of_which_a_page_is_scribbled_on_end_up_whole(tmp_path: Path) -> None:
    async with followed(tmp_path) as before:
        quotas = await before.quotas()
    damaged = 0
    for _ in scribbled(tmp_path / "views.db", "noise"):
        starts = 0
        while starts := starts + 1:  # as a supervisor starts a service again
            try:
                async with followed(tmp_path) as after:
                    assert await after.quotas() == quotas
            except LogUnavailable:
                damaged += 1
                assert starts == 1, "the second start has whole views"
            else:
                break
    assert damaged > 10


async def test_damaged_views_are_rebuilt_while_the_service_runs(tmp_path: Path) -> None:
    async with followed(tmp_path):
        pass
    async with followed(tmp_path) as here:
        quotas = await here.quotas()
        with (tmp_path / "views.db").open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(4 * PAGE)
            file.write(os.urandom(size - 4 * PAGE))
        here.database.db.execute("PRAGMA shrink_memory")

        with pytest.raises(LogUnavailable, match="views were damaged; they are rebuilt"):
            await here.quotas()

        following = asyncio.create_task(here.runner.run())
        await here.log.append([Append("key-x", NO_STREAM, [golden_event("key.issued.v1")])])
        async with asyncio.timeout(10):
            await here.runner.reached(301)
        assert await here.quotas() == quotas | {"x": quotas["0"]}
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@pytest.mark.parametrize("row", [b"noise", b'{"label":"Jo\xff"}'])
async def test_a_row_that_is_damaged_ends_no_role_and_sets_no_stream_aside(
    tmp_path: Path, row: bytes
) -> None:
    async with followed(tmp_path) as here:
        quotas = await here.quotas()
        with closing(sqlite3.connect(tmp_path / "views.db")) as database, database:
            database.execute(f"UPDATE {table_of('usage')} SET row = ? WHERE id = '7'", (row,))

        following = asyncio.create_task(here.runner.run())
        await here.log.append([Append("key-7", 0, units(3))])
        async with asyncio.timeout(10):
            while here.runner.position < 301:
                assert not following.done(), following.exception()
                await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])

        assert await here.views.tagged(ASIDE, SET_ASIDE) == []
        assert await here.quotas() == quotas | {"7": quotas["7"] + 3}
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def test_views_on_a_full_disk_are_reported_and_go_on(tmp_path: Path) -> None:
    async with followed(tmp_path) as here:
        issued = golden_event("key.issued.v1")
        page = [RecordedEvent(301 + n, f"key-{300 + n}", 0, issued) for n in range(1000)]
        limit = here.database.db.execute("PRAGMA page_count").fetchone()[0]
        here.database.db.execute(f"PRAGMA max_page_count={limit}")

        for _ in range(2):
            with pytest.raises(LogUnavailable, match="views cannot be used: database or disk"):
                await here.views.apply(page, lambda _, body: body)
        assert await here.views.position() == 300
        assert len(await here.quotas()) == 300

        here.database.db.execute("PRAGMA max_page_count=100000")
        assert await here.views.apply(page, lambda _, body: body) == 1300
        assert len(await here.quotas()) == 1300


# The process whose disk is full, or that lacks a right.


def child(what: str, path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, __file__, what, str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


async def _fill_the_disk(path: Path) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with opened(path) as log:
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        answered, why = 0, ""
        while not why:
            try:
                await log.append([Append("key-a", answered - 1, units(answered))])
            except LogUnavailable as error:
                why = str(error)
            else:
                answered += 1
        read = len(await log.read("key-a"))
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        position = await log.append([Append("key-a", answered - 1, units(answered))])
    told = {
        "why": why,
        "answered": answered,
        "read_while_full": read,
        "position_after": position,
    }
    print(json.dumps(told))  # noqa: T201


async def _write_without_the_right(path: Path) -> None:
    if os.getuid() == 0:
        os.setuid(65534)  # rights bind everybody but root
    try:
        async with opened(path) as log:
            await log.append([Append("key-z", NO_STREAM, units(1))])
    except LogUnavailable as error:
        print(error)  # noqa: T201


async def _die_after_answers(path: Path) -> None:
    async with opened(path) as log:
        for n in range(200):
            await log.append([Append("key-a", n - 1, units(n))])
        print(json.dumps(list(range(200))), flush=True)  # noqa: T201
        os._exit(9)


if __name__ == "__main__":
    asyncio.run(
        {
            "fill-the-disk": _fill_the_disk,
            "write-without-the-right": _write_without_the_right,
            "die-after-answers": _die_after_answers,
        }[sys.argv[1]](Path(sys.argv[2]))
    )
