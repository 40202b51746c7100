"""Transactions that wait together are one commit, and each is answered for itself."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from cs.runtime.sql import Many, Work
from cs.sqlite import sql
from cs.sqlite.sql import SqliteDatabase


class Unavailable(Exception):
    pass


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words.db"


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


async def test_a_list_is_looked_for_as_in_postgresql(database: SqliteDatabase) -> None:
    await database.transact(say("a", "b", "c"))

    found = await database.fetch(
        "SELECT word FROM said WHERE word = ANY($1::text[]) ORDER BY word", ["c", "a", "x"]
    )

    assert [word for (word,) in found] == ["a", "c"]
