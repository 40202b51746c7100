"""Statements for both databases (`cs.runtime.sql`) in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from secrets import token_hex
from typing import Any, TypeVar

import asyncpg

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.parts import WRITE_ANEW_S, every_part, replace_parts, retry_while_locked
from cs.postgres.pool import Pool, PooledConnection, connected
from cs.runtime.sql import Many, Rows, Statement, Work

T = TypeVar("T")

#: A database that is away, or lacks what a statement names.
_UNAVAILABLE = (
    DatabaseUnavailable,
    asyncpg.UndefinedTableError,
    asyncpg.UndefinedColumnError,
)


class PostgresDatabase:
    """Tables behind *pool*, which its owner closes.

    Args:
        pool: Of connections.
        unavailable: The error to raise in the place of one of the database's.
    """

    def __init__(self, pool: Pool, unavailable: Callable[[Exception], Exception]) -> None:
        self.pool = pool
        self._unavailable = unavailable

    async def fetch(self, sql: str, *parameters: Any) -> Rows:
        async with self._connected() as connection:
            return await connection.fetch(sql, *parameters)

    async def fetch_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> Rows:
        async with self._connected() as connection:
            return await connection.fetchmany(sql, rows)

    async def transact(self, work: Work[T]) -> T:
        async with self._connected() as connection, connection.transaction():
            return await _run(connection, work)

    async def transact_locking(self, work: Callable[[], Work[T]]) -> T:
        done: list[T] = []

        async def run(connection: PooledConnection) -> None:
            done[:] = [await _run(connection, work())]

        with self._bounded("run the command again"):
            async with asyncio.timeout(WRITE_ANEW_S):
                await retry_while_locked(self.pool, run)
        return done[0]

    async def purge(self, table: str, column: str, values: Sequence[str]) -> int:
        """Put a new table in the place of *table*, since a page keeps the bytes of its rows.

        Writers wait while what is left is copied; nothing queues behind a transaction that
        has the table in use (docs/decisions/0018).  The server's own write-ahead log holds
        the bytes until it is recycled.
        """
        where = f"WHERE {column} = ANY($1)"
        if not await self.fetch(f"SELECT 1 FROM {table} {where} LIMIT 1", values):  # noqa: S608
            return 0
        gone = 0

        async def replace(connection: PooledConnection) -> None:
            nonlocal gone
            await connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
            deleted = await connection.execute(f"DELETE FROM {table} {where}", values)  # noqa: S608
            gone = int(deleted.split()[-1])
            # Readers wait from the exchange to the commit.
            new = f"{table}_{token_hex(4)}"
            await connection.execute(f"CREATE TABLE {new} (LIKE {table} INCLUDING ALL)")
            await connection.execute(f"INSERT INTO {new} SELECT * FROM {table}")  # noqa: S608
            await connection.execute(f"DROP TABLE {table}")
            await connection.execute(f"ALTER TABLE {new} RENAME TO {table}")

        with self._bounded("erase again"):
            async with asyncio.timeout(WRITE_ANEW_S):
                await retry_while_locked(self.pool, replace)
        return gone

    async def wipe(self, *, rewrite: bool = False) -> None:
        """Do nothing: vacuum frees the pages, and `purge` replaces them."""

    async def wipe_parts(
        self, table: str, column: str, values: Sequence[str] | None = None
    ) -> None:
        """Put new tables in the place of the parts that hold the rows (`cs.postgres.parts`)."""
        with self._bounded("erase again"):
            if values is None:
                parts: Sequence[str] = await every_part(self.pool, table)
            else:
                of = f"SELECT DISTINCT tableoid::regclass::text FROM {table}"  # noqa: S608
                rows = await self.fetch(f"{of} WHERE {column} = ANY($1)", values)
                parts = [part for (part,) in rows]
            await replace_parts(self.pool, table, parts)

    async def close(self) -> None:
        """Do nothing: the pool is its owner's."""

    @contextmanager
    def _bounded(self, again: str) -> Iterator[None]:
        """Translate the errors of what locks tables; *again* says what to do after them."""
        try:
            yield
        except (DatabaseUnavailable, TimeoutError) as error:
            why = str(error) or "a transaction on the table does not end (pg_stat_activity)"
            raise self._unavailable(DatabaseUnavailable(f"{why}; {again}")) from error

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[PooledConnection]:
        try:
            async with connected(self.pool) as connection:
                yield connection
        except _UNAVAILABLE as error:
            raise self._unavailable(error) from error


async def _run(connection: PooledConnection, work: Work[T]) -> T:
    try:
        statement = next(work)
        while True:
            statement = work.send(await _execute(connection, statement))
    except StopIteration as end:
        done: T = end.value
        return done


async def _execute(connection: PooledConnection, statement: Statement) -> Rows:
    if isinstance(statement, Many):
        return await connection.fetchmany(*statement)
    return await connection.fetch(*statement)
