"""Statements for both databases (`cs.runtime.sql`) in a SQLite file."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from cs.runtime.sql import Rows, Work
from cs.sqlite.database import LOCK_TIMEOUT_S, transaction, wipe
from cs.sqlite.file_on_demand import FileOnDemand

T = TypeVar("T")


class SqliteDatabase:
    """The file at *path*, made when something is first stored; in memory without a path.

    The parameters are those of `FileOnDemand`.
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
        lock_timeout_s: int = LOCK_TIMEOUT_S,
    ) -> None:
        self.file = FileOnDemand(
            path,
            schema,
            thread=thread,
            unavailable=unavailable,
            make_folder=make_folder,
            secure_delete=secure_delete,
            lock_timeout_s=lock_timeout_s,
            prepare=_add_functions,
        )

    async def fetch(self, sql: str, *parameters: Any) -> Rows:
        return await self.file.run(self._fetch, sql, parameters)

    async def transact(self, work: Work[T]) -> T:
        return await self.file.run(self._transact, work)

    async def purge(self, table: str, column: str, values: Sequence[str]) -> int:
        return await self.file.run(self._purge, table, column, values)

    async def wipe(self) -> None:
        await self.file.run(self._wipe)

    async def close(self) -> None:
        self.file.close()

    # What runs in the thread.

    def _fetch(self, sql: str, parameters: Sequence[Any]) -> Rows:
        return self._execute(sql, *parameters) if self.file.exists else ()

    def _execute(self, sql: str, *parameters: Any) -> Rows:
        named = {str(n): _bound(value) for n, value in enumerate(parameters, 1)}
        return self.file.db.execute(sql, named).fetchall()

    def _transact(self, work: Work[T]) -> T:
        with transaction(self.file.db):
            try:
                statement = next(work)
                while True:
                    statement = work.send(self._execute(*statement))
            except StopIteration as end:
                done: T = end.value
                return done

    def _purge(self, table: str, column: str, values: Sequence[str]) -> int:
        if not self.file.exists:
            return 0
        statement = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608  names of ours
        with transaction(self.file.db):
            gone = sum(self.file.db.execute(statement, (v,)).rowcount for v in values)
        wipe(self.file.db, rewrite=True)  # also of what could not be wiped before
        return gone

    def _wipe(self) -> None:
        if self.file.exists:
            wipe(self.file.db)


def _add_functions(connection: sqlite3.Connection) -> None:
    """Add those of PostgreSQL's that shared statements use."""
    connection.create_function("clock_timestamp", 0, time.time)
    connection.create_function("to_timestamp", 1, lambda moment: moment, deterministic=True)
    connection.create_function("date_part", 2, lambda _, moment: moment, deterministic=True)


def _bound(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value
