"""One way to use a SQLite file: how it is opened, its transactions, threads and errors."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Literal, ParamSpec, Protocol, TypeVar

from cs.runtime.private_files import DeletedDataRemains, make_private

P = ParamSpec("P")
T = TypeVar("T")

#: How long to wait for another process's transaction.
LOCK_TIMEOUT_S = 10
#: How long `wipe` waits for other processes; the thread that owns the file waits with it.
READERS_S = 3
#: Wait before a new file is switched to its write-ahead log again.
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
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
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


class FileOnDemand:
    """The file at *path* (mode 0600), and the one thread that works with it.

    Args:
        path: Of the file; ``None``: it is in memory, and gone when it is closed.
        statements: Executed whenever it is opened: its tables, if they are not there.
        thread: A name for the thread.
        unavailable: The error to raise in the place of one of SQLite's or the system's.
        make_folder: Make the folder of the file too (mode 0700).
        secure_delete: What is deleted is overwritten with zeros.
        synchronous: As in `connect`.
        lock_timeout_s: How long to wait for another process's transaction.
        prepare: Called with each connection before its first statement.
    """

    def __init__(
        self,
        path: Path | None,
        statements: Sequence[str],
        *,
        thread: str,
        unavailable: Callable[[Exception], Exception],
        make_folder: bool = False,
        secure_delete: bool = False,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        lock_timeout_s: int = LOCK_TIMEOUT_S,
        prepare: Callable[[sqlite3.Connection], object] | None = None,
    ) -> None:
        self._prepare = prepare
        self._path = path
        self._statements = statements
        self._thread = DatabaseThreads(thread)
        self._unavailable = unavailable
        self._make_folder = make_folder
        self._secure_delete = secure_delete
        self._synchronous = synchronous
        self._lock_timeout_s = lock_timeout_s
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Wait for what runs, and close the file."""
        self._thread.close()
        if self._connection is not None:
            self._connection.close()

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run *function* in the thread: there `exists` and `db` may be used."""
        try:
            return await self._thread.run(function, *args, **kwargs)
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    @property
    def exists(self) -> bool:
        """Whether anybody has made it; reading it then makes none."""
        return self._connection is not None or (self._path is not None and self._path.exists())

    @property
    def db(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def remove(self) -> None:
        """Close the file and delete it; `db` makes a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):  # a log must not be read into the new file
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            if self._make_folder:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private(self._path)
        connection = connect(
            self._path,
            synchronous=self._synchronous,
            secure_delete=self._secure_delete,
            lock_timeout_s=self._lock_timeout_s,
        )
        try:
            if self._prepare is not None:
                self._prepare(connection)
            for statement in self._statements:
                connection.execute(statement)
        except sqlite3.Error:
            connection.close()
            raise
        return connection


#: SQLite's primary result codes that an operator can act on.
_MEANING = {
    sqlite3.SQLITE_BUSY: "another process has held its lock too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or has failed",
    sqlite3.SQLITE_READONLY: "this user may not write it",
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
