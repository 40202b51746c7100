"""Connections to views whose tables are there, and what PostgreSQL cannot do now."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import asyncpg
from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import (
    CONNECT_TIMEOUT_S,
    Pool,
    PooledConnection,
    transaction,
    translate_errors,
)
from cs.projections.postgres.table_sets import TableSet

log = get_logger()

#: Somebody else holds what we need, or dropped what we use, just now.
_IN_THE_WAY = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)
_LOST = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError)


class ViewDatabase:
    """The tables in *tables*, made when they are first used, and again when they are gone."""

    def __init__(self, pool: Pool, tables: TableSet) -> None:
        self._pool = pool
        self._tables = tables
        self.made = False

    @asynccontextmanager
    async def changing(self) -> AsyncIterator[PooledConnection]:
        """Give a transaction on tables that are there.

        Raises:
            LogUnavailable: It cannot be had now, or tables are gone.
        """
        async with self._made_tables(), transaction(self._pool) as connection:
            yield connection

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[PooledConnection]:
        """Give a connection; each statement sees what is committed.

        Raises:
            LogUnavailable: As `changing`.
        """
        async with self._made_tables():
            with translate_errors():
                async with self._pool.acquire(timeout=CONNECT_TIMEOUT_S) as connection:
                    yield connection

    @asynccontextmanager
    async def _made_tables(self) -> AsyncIterator[None]:
        with unavailable():
            if not self.made:
                async with transaction(self._pool) as connection:
                    await self._tables.make(connection)
                self.made = True
            try:
                yield
            except _LOST as error:
                log.warning("views_lost", error=str(error))
                self.made = False
                raise LogUnavailable("the views are gone; they are made anew") from error


@contextmanager
def unavailable() -> Iterator[None]:
    """Turn what PostgreSQL cannot do now into `LogUnavailable`."""
    try:
        yield
    except DatabaseUnavailable as error:
        raise LogUnavailable(f"the views cannot be used: {error}") from error
    except _IN_THE_WAY as error:
        raise LogUnavailable(f"the views are in use: {error}") from error
