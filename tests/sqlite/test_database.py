"""Connections, transactions and threads for SQLite files, whoever uses them."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from cs.sqlite import database
from cs.sqlite.database import DatabaseThreads, connect, transaction, wipe


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
    monkeypatch.setattr(database, "sleep", lambda _: other.execute("COMMIT"))

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
