"""Writes that wait together are one transaction, and each is answered for itself."""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from cs.sqlite import group_commit
from cs.sqlite.database import DatabaseThreads, connect
from cs.sqlite.group_commit import GroupCommit


class Database:
    """A file with one column, and a group commit that writes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.connection = connect(path, synchronous="FULL")
        self.connection.execute("CREATE TABLE said (word TEXT PRIMARY KEY)")
        self.thread = DatabaseThreads("said")
        self.group = GroupCommit(self.connection, self.thread)
        self.statements: list[str] = []
        self.connection.set_trace_callback(self.statements.append)

    def say(self, *words: str) -> Callable[[], int]:
        """Return a write of *words*, which fails at one that was said before."""

        def write() -> int:
            for word in words:
                self.connection.execute("INSERT INTO said VALUES (?)", (word,))
            return len(words)

        return write

    @property
    def said(self) -> list[str]:
        """What another process finds."""
        with closing(sqlite3.connect(self.path)) as other:
            rows = other.execute("SELECT word FROM said ORDER BY word").fetchall()
        return [word for (word,) in rows]

    def close(self) -> None:
        self.thread.close()
        self.connection.close()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(tmp_path / "said.db")
    yield database
    database.close()


async def test_those_that_wait_share_a_transaction_and_are_durable_on_return(
    database: Database,
) -> None:
    async def say(word: str) -> list[str]:
        await database.group.run(database.say(word))
        return database.said

    words = [f"{number:02}" for number in range(20)]
    found = await asyncio.gather(*map(say, words))

    assert all(word in said for word, said in zip(words, found, strict=True))
    assert database.said == words
    assert database.statements.count("COMMIT") == 1


async def test_one_that_fails_is_undone_and_the_others_are_stored(database: Database) -> None:
    answers = await asyncio.gather(
        database.group.run(database.say("a")),
        database.group.run(database.say("b", "a")),
        database.group.run(database.say("c", "d")),
        return_exceptions=True,
    )

    assert (answers[0], answers[2]) == (1, 2)
    assert isinstance(answers[1], sqlite3.IntegrityError)
    assert database.said == ["a", "c", "d"]


async def test_where_the_transaction_is_lost_nobody_is_told_it_was_stored(
    database: Database,
) -> None:
    def full() -> None:
        database.connection.execute("ROLLBACK")  # as SQLite does by itself then
        raise sqlite3.OperationalError("database or disk is full")

    answers = await asyncio.gather(
        database.group.run(database.say("a")),
        database.group.run(full),
        return_exceptions=True,
    )

    assert [str(answer) for answer in answers] == ["database or disk is full"] * 2
    assert database.said == []
    assert await database.group.run(database.say("b")) == 1


async def test_what_comes_after_the_commit_is_for_its_caller_alone(database: Database) -> None:
    seen: list[list[str]] = []

    def fail(_: int) -> None:
        raise sqlite3.OperationalError("in use")

    answers = await asyncio.gather(
        database.group.run(database.say("a"), lambda _: seen.append(database.said)),
        database.group.run(database.say("b"), fail),
        return_exceptions=True,
    )

    assert answers[0] == 1
    assert str(answers[1]) == "in use"
    assert seen == [["a", "b"]]


async def test_a_caller_that_left_is_left_out_unless_its_write_has_begun(
    database: Database,
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        go_on.wait(10)
        database.say("begun")()

    first = asyncio.create_task(database.group.run(slow))
    await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(database.group.run(database.say("waits")))
    third = asyncio.create_task(database.group.run(database.say("stays")))
    await asyncio.to_thread(begun.wait, 10)  # meanwhile both have begun to wait
    first.cancel()
    second.cancel()
    go_on.set()
    await third

    assert database.said == ["begun", "stays"]


async def test_beyond_so_many_that_wait_one_more_is_refused(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "WAITING", 2)
    calls = [database.group.run(database.say(word)) for word in "abc"]

    answers = await asyncio.gather(*calls, return_exceptions=True)

    assert answers[:2] == [1, 1]
    assert str(answers[2]) == "2 writes are waiting already"
    assert database.said == ["a", "b"]
