"""One way to use a SQLite file: how it is opened, its transactions, its threads."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

#: How long to wait for another process's transaction.
LOCK_TIMEOUT_S = 10


def connect(
    path: Path | None,
    *,
    synchronous: Literal["FULL", "NORMAL"],
    secure_delete: bool = False,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
) -> sqlite3.Connection:
    """Open the file at *path*, in memory without one; any thread may use it, one at a time.

    Args:
        path: Of the file.
        synchronous: ``FULL``: a commit is durable on return.  ``NORMAL``: the last ones may be
            lost with the machine, in order (SQLite's manual, "PRAGMA synchronous", with WAL).
        secure_delete: What is deleted is overwritten with zeros.
        lock_timeout_s: How long to wait for another process's transaction.

    Raises:
        sqlite3.Error: It cannot be used.
    """
    connection = sqlite3.connect(
        path or ":memory:",
        check_same_thread=False,
        isolation_level=None,  # transactions begin where `transaction` says
        timeout=lock_timeout_s,
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={synchronous}")
        if secure_delete:
            connection.execute("PRAGMA secure_delete=ON")
    except BaseException:
        connection.close()
        raise
    return connection


class _Executor(Protocol):
    """A connection, or a cursor."""

    def execute(self, statement: str, /) -> object: ...


@contextmanager
def transaction(
    connection: _Executor, *, commit: Callable[[], object] | None = None
) -> Iterator[None]:
    """Store all that is written within, or nothing; *connection* can be used after both.

    The lock for writers is taken at the beginning: a transaction that begins by reading fails
    at once when another process has written in between, however long it would wait.

    Args:
        connection: With no transaction open.
        commit: What stores the transaction; ``COMMIT`` unless given.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        if commit is None:
            connection.execute("COMMIT")
        else:
            commit()
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise


def truncate_wal(connection: sqlite3.Connection) -> bool:
    """Empty the write-ahead log, which holds pages as they were before.

    Returns:
        Whether it is empty: not while another process reads from it.
    """
    busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


class DatabaseThreads:
    """Runs what waits for a file in threads of its own; with one, in the order it came."""

    def __init__(self, name: str, count: int = 1) -> None:
        self._executor = ThreadPoolExecutor(count, thread_name_prefix=name)

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *function*.

        Once it has begun it is done also if the caller is cancelled; before that it is not.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, partial(function, *args, **kwargs))

    def close(self) -> None:
        """Wait for what runs, and end the threads."""
        self._executor.shutdown(wait=True)
