"""Statements for both databases (`cs.runtime.sql`) in a SQLite file."""

import json
import re
import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, ParamSpec, TypeVar

from cs.runtime.batcher import Batcher, BatcherFull
from cs.runtime.private_files import make_private
from cs.runtime.sql import Many, Rows, Statement, Work
from cs.sqlite.database import LOCK_TIMEOUT_S, DatabaseThreads, connect, transaction, wipe

P = ParamSpec("P")
T = TypeVar("T")

#: Transactions of callers that are one transaction of the file.
BATCH = 512
#: Callers that wait to write; more are refused at once.
WAITING = 10_000
_BYTES_LIST = re.compile(r"= ANY\((\$\d)::bytea\[\]\)")
#: What SQLite spells otherwise than PostgreSQL, or does not need.
_SPELLINGS = (
    (" = ANY(", " IN (SELECT value FROM json_each("),
    ("::text[])", "))"),
    ("::text", ""),
    ("::bytea", ""),
    (" FOR UPDATE", ""),
    (' COLLATE "C"', ""),
)


class SqliteDatabase:
    """The file at *path* (mode 0600), and the one thread that works with it.

    Transactions of callers that wait together are one, since a commit costs the same for all
    as for one; what one of them raises is undone by itself and leaves the others alone.

    Args:
        path: Of the file, made when something is first stored; ``None``: it is in memory, and
            gone when it is closed.
        schema: Statements executed whenever it is opened: its tables, if they are not there.
        thread: A name for the thread.
        unavailable: The error to raise in the place of one of SQLite's or the system's.
        make_folder: Make the folder of the file too (mode 0700).
        secure_delete: What is deleted is overwritten with zeros.
        synchronous: As in `cs.sqlite.database.connect`.
        lock_timeout_s: How long to wait for another process's transaction.
    """

    def __init__(
        self,
        path: Path | None,
        schema: Sequence[str],
        *,
        thread: str,
        unavailable: Callable[[Exception], Exception],
        make_folder: bool = False,
        secure_delete: bool = False,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
        lock_timeout_s: int = LOCK_TIMEOUT_S,
    ) -> None:
        self._path = path
        self._schema = schema
        self._thread = DatabaseThreads(thread)
        self._unavailable = unavailable
        self._make_folder = make_folder
        self._secure_delete = secure_delete
        self._synchronous = synchronous
        self._lock_timeout_s = lock_timeout_s
        self._connection: sqlite3.Connection | None = None
        self._transactions = Batcher[Work[Any], Any](
            self._transact_batch, size=BATCH, waiting=WAITING
        )

    async def fetch(self, sql: str, *parameters: Any) -> Rows:
        return await self._in_thread(self._fetch, sql, parameters)

    async def fetch_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> Rows:
        return await self.transact(_many(sql, rows))

    async def transact(self, work: Work[T]) -> T:
        try:
            done: T = await self._transactions.submit(work)
        except (sqlite3.Error, OSError, BatcherFull) as error:
            raise self._unavailable(error) from error
        return done

    async def transact_locking(self, work: Callable[[], Work[T]]) -> T:
        return await self.transact(work())

    def transact_here(self, work: Work[T]) -> T:
        """Run *work* in this thread; for a user of the file from no other."""
        try:
            with transaction(self.db):
                return self._run(work)
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    async def purge(self, table: str, column: str, values: Sequence[str]) -> int:
        return await self._in_thread(self._purge, table, column, values)

    async def wipe(self, *, rewrite: bool = False) -> None:
        await self._in_thread(self._wipe, rewrite)

    async def wipe_parts(
        self, table: str, column: str, values: Sequence[str] | None = None
    ) -> None:
        del table, column, values
        await self.wipe()

    async def close(self) -> None:
        self.close_file()

    def close_file(self) -> None:
        """Wait for what runs, and close the file."""
        self._thread.close()
        if self._connection is not None:
            self._connection.close()

    async def _in_thread(
        self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        try:
            return await self._thread.run(function, *args, **kwargs)
        except (sqlite3.Error, OSError) as error:
            raise self._unavailable(error) from error

    # What runs in the thread.

    @property
    def exists(self) -> bool:
        """Whether there is a file; reading then makes none."""
        return self._connection is not None or (self._path is not None and self._path.exists())

    @property
    def db(self) -> sqlite3.Connection:
        """The connection, opened when it is first used."""
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
            _add_functions(connection)
            for statement in self._schema:
                connection.execute(statement)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _fetch(self, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._execute((sql, *parameters)) if self.exists else ()

    def _execute(self, statement: Statement) -> Rows:
        if isinstance(statement, Many):
            return [
                row for each in statement.rows for row in self._execute((statement.sql, *each))
            ]
        sql, *parameters = statement
        if sql.startswith("LOCK TABLE"):
            return ()
        named = {str(n): bound(value) for n, value in enumerate(parameters, 1)}
        return self.db.execute(spelled(sql), named).fetchall()

    async def _transact_batch(self, works: Sequence[Work[Any]]) -> Sequence[Any | Exception]:
        return await self._in_thread(self._transact_together, works)

    def _transact_together(self, works: Sequence[Work[Any]]) -> list[Any | Exception]:
        try:
            with transaction(self.db):
                return [self._transact_one(work) for work in works]
        except Exception as error:  # noqa: BLE001  raised to each caller
            return [error] * len(works)

    def _transact_one(self, work: Work[Any]) -> Any | Exception:
        self.db.execute("SAVEPOINT one")
        try:
            answer = self._run(work)
        except Exception as error:
            if not self.db.in_transaction:  # a full disk has ended it, for all
                raise
            self.db.execute("ROLLBACK TO one")
            answer = error
        self.db.execute("RELEASE one")
        return answer

    def _run(self, work: Work[T]) -> T:
        try:
            statement = next(work)
            while True:
                statement = work.send(self._execute(statement))
        except StopIteration as end:
            done: T = end.value
            return done

    def _purge(self, table: str, column: str, values: Sequence[str]) -> int:
        if not self.exists:
            return 0
        statement = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608  names of ours
        with transaction(self.db):
            gone = sum(self.db.execute(statement, (v,)).rowcount for v in values)
        wipe(self.db, rewrite=True)  # also of what could not be wiped before
        return gone

    def _wipe(self, rewrite: bool) -> None:
        if self.exists:
            wipe(self.db, rewrite=rewrite)


def _add_functions(connection: sqlite3.Connection) -> None:
    """Add those of PostgreSQL's that shared statements use, and a newer one of SQLite's."""
    connection.create_function("unhex", 1, bytes.fromhex, deterministic=True)
    connection.create_function("clock_timestamp", 0, time.time)
    connection.create_function("to_timestamp", 1, lambda moment: moment, deterministic=True)
    connection.create_function("date_part", 2, lambda _, moment: moment, deterministic=True)
    for name, count in (("pg_advisory_xact_lock", 1), ("pg_notify", 2), ("set_config", 3)):
        connection.create_function(name, count, lambda *_: None)


def _many(sql: str, rows: Sequence[Sequence[Any]]) -> Work[Rows]:
    return (yield Many(sql, rows))


@lru_cache(maxsize=1_000)
def spelled(sql: str) -> str:
    """Return *sql*, which is written for PostgreSQL, for SQLite."""
    sql = _BYTES_LIST.sub(r"IN (SELECT unhex(value) FROM json_each(\1))", sql)
    for of_postgres, of_sqlite in _SPELLINGS:
        sql = sql.replace(of_postgres, of_sqlite)
    return sql


def bound(value: Any) -> Any:
    """Return what SQLite is given for a parameter of PostgreSQL's."""
    if isinstance(value, list):
        return json.dumps([v.hex() if isinstance(v, bytes) else v for v in value])
    return value.isoformat() if isinstance(value, date) else value
