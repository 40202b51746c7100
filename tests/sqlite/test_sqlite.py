"""SQLite files: connections, transactions and threads, and statements of both databases."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from time import monotonic

import pytest

from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.sql import Many, Work
from cs.sqlite import database as files
from cs.sqlite import sql
from cs.sqlite.database import DatabaseThreads, connect, transaction, wipe
from cs.sqlite.sql import SqliteDatabase


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "some.db"


@pytest.fixture
def db(path: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(path, synchronous="FULL", secure_delete=True, lock_timeout_s=0.05)
    connection.execute("CREATE TABLE numbers (number INTEGER)")
    yield connection
    connection.close()


def _numbers(connection: sqlite3.Connection) -> list[int]:
    return [number for (number,) in connection.execute("SELECT number FROM numbers")]


def test_a_new_file_that_another_process_is_making_is_waited_for(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # what switching to a write-ahead log holds, too
    monkeypatch.setattr(files, "sleep", lambda _: other.execute("COMMIT"))

    opened = connect(path, synchronous="FULL")

    assert opened.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    opened.close()
    other.close()


def test_a_new_file_is_waited_for_no_longer_than_asked(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        connect(path, synchronous="FULL", lock_timeout_s=0.05)

    other.close()


def test_all_of_a_transaction_is_stored_or_nothing(db: sqlite3.Connection) -> None:
    def fail() -> None:
        db.execute("INSERT INTO numbers VALUES (2)")
        raise KeyError

    with pytest.raises(KeyError), transaction(db):
        fail()
    with transaction(db):
        db.execute("INSERT INTO numbers VALUES (3)")

    assert _numbers(db) == [3]


def test_a_transaction_holds_the_lock_for_writers_from_its_beginning(
    db: sqlite3.Connection, path: Path
) -> None:
    other = connect(path, synchronous="FULL", lock_timeout_s=0.05)
    with transaction(db):
        assert _numbers(db) == [], "nothing but read so far"
        with pytest.raises(sqlite3.OperationalError, match="locked"), transaction(other):
            pass
    with transaction(other):
        pass
    other.close()


def test_rows_that_moved_between_pages_leave_no_copies(
    db: sqlite3.Connection, path: Path
) -> None:
    db.execute("CREATE TABLE people (who BLOB PRIMARY KEY, box BLOB) WITHOUT ROWID")
    drawn = Random(1)
    people = [
        (drawn.randbytes(16), drawn.randbytes(drawn.choice([80, 300, 900])))
        for _ in range(2_000)
    ]
    for start in range(0, len(people), 100):
        with transaction(db):
            db.executemany("INSERT INTO people VALUES (?, ?)", people[start : start + 100])
    gone = people[::3]
    for who, _ in gone:
        db.execute("DELETE FROM people WHERE who = ?", (who,))

    wipe(db, rewrite=True)

    stored = path.read_bytes()
    assert not [who for who, box in gone if who in stored or box in stored]


def test_those_that_delete_at_once_wait_for_one_another(path: Path) -> None:
    """SQLite refuses a checkpoint at once, without waiting, while another one runs."""

    def delete(first: int) -> None:
        with closing(connect(path, synchronous="NORMAL", secure_delete=True)) as one:
            for number in range(first, first + 200):
                one.execute("INSERT INTO wide VALUES (?, ?)", (number, "x" * 5_000))
                one.execute("DELETE FROM wide WHERE number = ?", (number,))
                wipe(one)

    with closing(connect(path, synchronous="NORMAL", secure_delete=True)) as first:
        first.execute("CREATE TABLE wide (number INTEGER PRIMARY KEY, words TEXT)")
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(delete, (0, 1_000, 2_000)))

    assert b"xxx" not in path.read_bytes()


def test_a_late_try_waits_for_readers_no_longer_than_what_is_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        closing(connect(path, synchronous="FULL", secure_delete=True)) as one,
        closing(connect(path, synchronous="FULL")) as reader,
    ):
        one.execute("CREATE TABLE numbers (number INTEGER)")
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM numbers").fetchall()
        one.execute("INSERT INTO numbers VALUES (1)")
        times = iter([0.0, files.READERS_S - 0.05])
        monkeypatch.setattr(files, "monotonic", lambda: next(times, files.READERS_S + 1.0))

        begun = monotonic()
        with pytest.raises(DeletedDataRemains):
            wipe(one)
        took = monotonic() - begun
        (timeout_ms,) = one.execute("PRAGMA busy_timeout").fetchone()

    assert took < files.READERS_S / 2
    assert timeout_ms == files.LOCK_TIMEOUT_S * 1000


async def test_one_thread_works_in_order_and_finishes_what_a_cancelled_caller_began() -> None:
    done: list[int] = []
    may_go, threads = threading.Event(), DatabaseThreads("some")

    def first() -> None:
        may_go.wait()
        done.append(1)

    waiting = asyncio.create_task(threads.run(first))
    await asyncio.wait([waiting], timeout=0.01)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    second = asyncio.create_task(threads.run(done.append, 2))
    await asyncio.wait([second], timeout=0.01)
    assert not done
    may_go.set()
    await second
    threads.close()

    assert done == [1, 2]
    assert not [each for each in threading.enumerate() if each.name.startswith("some")]


# Transactions that wait together are one commit, and each is answered for itself.


class Unavailable(Exception):
    pass


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqliteDatabase]:
    database = SqliteDatabase(
        path,
        ("CREATE TABLE IF NOT EXISTS said (word TEXT PRIMARY KEY)",),
        thread="words",
        unavailable=lambda error: Unavailable(str(error)),
    )
    yield database
    await database.close()


def say(*words: str) -> Work[int]:
    """Store *words*; fail at one that was said before."""
    yield Many("INSERT INTO said VALUES ($1)", [(word,) for word in words])
    return len(words)


def said(path: Path) -> list[str]:
    """Return what another process finds."""
    with closing(sqlite3.connect(path)) as other:
        rows = other.execute("SELECT word FROM said ORDER BY word").fetchall()
    return [word for (word,) in rows]


async def test_those_that_wait_share_a_transaction_and_are_durable_on_return(
    database: SqliteDatabase, path: Path
) -> None:
    statements: list[str] = []
    database.db.set_trace_callback(statements.append)

    async def saying(word: str) -> list[str]:
        await database.transact(say(word))
        return said(path)

    words = [f"{number:02}" for number in range(20)]
    found = await asyncio.gather(*map(saying, words))

    assert all(word in stored for word, stored in zip(words, found, strict=True))
    assert said(path) == words
    assert statements.count("COMMIT") == 1


async def test_one_that_fails_is_undone_and_the_others_are_stored(
    database: SqliteDatabase, path: Path
) -> None:
    answers = await asyncio.gather(
        database.transact(say("a")),
        database.transact(say("b", "a")),
        database.transact(say("c", "d")),
        return_exceptions=True,
    )

    assert (answers[0], answers[2]) == (1, 2)
    assert isinstance(answers[1], Unavailable)
    assert said(path) == ["a", "c", "d"]


async def test_where_the_transaction_is_lost_no_caller_is_answered_that_it_was_stored(
    database: SqliteDatabase, path: Path
) -> None:
    def full() -> Work[None]:
        yield ("ROLLBACK",)  # as SQLite does by itself then
        raise sqlite3.OperationalError("database or disk is full")

    answers = await asyncio.gather(
        database.transact(say("a")), database.transact(full()), return_exceptions=True
    )

    assert [str(answer) for answer in answers] == ["database or disk is full"] * 2
    assert said(path) == []
    assert await database.transact(say("b")) == 1


async def test_beyond_so_many_that_wait_one_more_is_refused(database: SqliteDatabase) -> None:
    calls = [database.transact(say(f"{n:05}")) for n in range(sql.WAITING + 1)]

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert answers[: sql.WAITING] == [1] * sql.WAITING
    assert isinstance(answers[-1], Unavailable)
    assert "waiting already" in str(answers[-1])
