"""One way to use a SQLite file: how it is opened, its transactions, threads and errors."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Literal, ParamSpec, TypeVar

from cs.runtime.private_files import DeletedDataRemains

P = ParamSpec("P")
T = TypeVar("T")

#: How long to wait for another process's transaction.
LOCK_TIMEOUT_S = 10
#: How long `wipe` waits for other processes; the thread that owns the file waits with it.
READERS_S = 3
#: Wait before a new file is switched to its write-ahead log, or that is emptied, again.
WAL_AGAIN_S = 0.01


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
        _use_wal(connection, lock_timeout_s)
        connection.execute(f"PRAGMA synchronous={synchronous}")
        if secure_delete:
            connection.execute("PRAGMA secure_delete=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, timeout_s: float) -> None:
    """Give a new file its write-ahead log.

    While another process does the same, SQLite fails at once with "database is locked" and
    does not wait: its timeout does not hold where waiting could be a deadlock.
    """
    until = monotonic() + timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() >= until:
                raise
            sleep(WAL_AGAIN_S)
        else:
            return


@contextmanager
def transaction(connection: sqlite3.Connection | sqlite3.Cursor) -> Iterator[None]:
    """Store all that is written within, or nothing; *connection* can be used after both.

    The lock for writers is taken at the beginning: a transaction that begins by reading fails
    at once when another process has written in between, however long it would wait.

    Args:
        connection: With no transaction open.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # a full disk has ended it already
            connection.execute("ROLLBACK")
        raise


def wipe(connection: sqlite3.Connection, *, rewrite: bool = False) -> None:
    """Remove all bytes of deleted rows from the file and its write-ahead log.

    Until then the log, and while another process reads also the file itself, hold pages as
    they were before.

    Args:
        connection: Opened with ``secure_delete``, with no transaction open.
        rewrite: Write the whole file again: rows that moved between pages leave copies
            outside of any row, which ``secure_delete`` does not overwrite.

    Raises:
        DeletedDataRemains: Another process reads the file, for longer than `READERS_S`.
        sqlite3.Error: The file cannot be written.
    """
    (timeout_ms,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {min(timeout_ms, READERS_S * 1000)}")
    try:
        if rewrite:
            connection.execute("VACUUM")
        until = monotonic() + READERS_S
        while True:
            left_ms = max(0, int((until - monotonic()) * 1000))
            connection.execute(f"PRAGMA busy_timeout = {min(timeout_ms, left_ms)}")
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            if not busy or monotonic() > until:
                break
            sleep(WAL_AGAIN_S)  # SQLite does not wait while another connection checkpoints
    finally:
        connection.execute(f"PRAGMA busy_timeout = {timeout_ms}")
    if busy:
        (_, _, file) = connection.execute("PRAGMA database_list").fetchone()
        raise DeletedDataRemains(file)


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


#: SQLite's primary result codes that an operator can act on.
_MEANING = {
    sqlite3.SQLITE_BUSY: "another process has held its lock too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or read-only, or has failed",
    sqlite3.SQLITE_READONLY: "this user may not write it, or its disk is read-only",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is damaged",
}


def describe(error: BaseException) -> str:
    """Return what happened to the file, with SQLite's own words.

    >>> describe(sqlite3.OperationalError("no such table: stored_events"))
    'no such table: stored_events'
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.Error):
        cause = cause.__cause__
    # An error that the sqlite3 module raises by itself has no code.
    code = getattr(cause, "sqlite_errorcode", None)
    meaning = None if code is None else _MEANING.get(code & 0xFF)
    return str(error) if meaning is None else f"{meaning} ({error})"
