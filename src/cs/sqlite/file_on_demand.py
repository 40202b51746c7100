"""A private SQLite file that is made, and opened, when it is first needed."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from cs.runtime.private_files import make_private
from cs.sqlite.database import LOCK_TIMEOUT_S, DatabaseThreads, connect

P = ParamSpec("P")
T = TypeVar("T")


class FileOnDemand:
    """The file at *path* (mode 0600), and the one thread that works with it.

    Args:
        path: Of the file; ``None``: it is in memory, and gone when it is closed.
        statements: Executed whenever it is opened: its tables, if they are not there.
        thread: A name for the thread.
        unavailable: The error to raise in the place of one of SQLite's or the system's.
        make_folder: Make the folder of the file too (mode 0700).
        secure_delete: What is deleted is overwritten with zeros.
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

    def _open(self) -> sqlite3.Connection:
        if self._path is not None:
            if self._make_folder:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            make_private(self._path)
        connection = connect(
            self._path,
            synchronous="FULL",
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
