"""Small reads on the event loop: as fresh as any, and given up where they are slow."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from cs.sqlite.database import connect
from cs.sqlite.quick_reads import PAUSE_S, SLOW_S, QuickReads

ALL = "SELECT n FROM numbers WHERE n > ?"


@pytest.fixture
def written(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    database = connect(tmp_path / "a b?.db", synchronous="NORMAL")
    database.execute("CREATE TABLE numbers (n INTEGER)")
    yield database
    database.close()


@pytest.fixture
def path(tmp_path: Path, written: sqlite3.Connection) -> Path:
    written.execute("INSERT INTO numbers VALUES (1)")
    return tmp_path / "a b?.db"


def test_what_was_committed_before_is_found_and_what_was_not_is_not(
    path: Path, written: sqlite3.Connection
) -> None:
    reads = QuickReads(path)
    assert reads.rows(ALL, (0,)) == [(1,)]

    written.execute("BEGIN IMMEDIATE")
    written.execute("INSERT INTO numbers VALUES (2)")
    assert reads.rows(ALL, (0,)) == [(1,)]  # and nobody is waited for
    written.execute("COMMIT")

    assert reads.rows(ALL, (0,)) == [(1,), (2,)]
    assert reads.rows(ALL, (2,)) == []


def test_nothing_can_be_written(path: Path, written: sqlite3.Connection) -> None:
    assert QuickReads(path).rows("DELETE FROM numbers WHERE n > ?", (0,)) is None
    assert written.execute("SELECT n FROM numbers").fetchall() == [(1,)]


class Ticking:
    """Seconds, so many more each time that they are asked for."""

    def __init__(self) -> None:
        self.s = 100.0
        self.more_s = 0.0

    def __call__(self) -> float:
        self.s += self.more_s
        return self.s


def test_after_a_slow_read_there_is_none_for_a_while(path: Path) -> None:
    now = Ticking()
    reads = QuickReads(path, now)
    now.more_s = SLOW_S + 0.001
    assert reads.rows(ALL, (0,)) == [(1,)]

    now.more_s = 0.0
    assert reads.rows(ALL, (0,)) is None
    now.s += PAUSE_S
    assert reads.rows(ALL, (0,)) == [(1,)]


def test_after_an_error_another_file_may_be_there(path: Path) -> None:
    now = Ticking()
    reads = QuickReads(path, now)

    assert reads.rows("SELECT n FROM others WHERE n > ?", (0,)) is None
    assert reads.rows(ALL, (0,)) is None
    now.s += PAUSE_S
    assert reads.rows(ALL, (0,)) == [(1,)]


@pytest.mark.parametrize("missing", [None, Path("/nowhere/at.db")])
def test_without_a_file_there_is_nothing_to_read(missing: Path | None) -> None:
    reads = QuickReads(missing)

    assert reads.rows(ALL, (0,)) is None


def test_once_closed_it_reads_nothing(path: Path) -> None:
    reads = QuickReads(path)
    reads.rows(ALL, (0,))

    reads.close()

    assert reads.rows(ALL, (0,)) is None
