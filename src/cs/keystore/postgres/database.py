"""Transactions and reads of the key store's database."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager

import asyncpg

from cs.keystore.errors import KeysUnavailable
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, PooledConnection, connected, transaction


@asynccontextmanager
async def writing(pool: Pool) -> AsyncIterator[PooledConnection]:
    """Give a transaction.

    Raises:
        KeysUnavailable: The database is away.
    """
    try:
        async with transaction(pool) as connection:
            yield connection
    except DatabaseUnavailable as error:
        raise KeysUnavailable(f"the key store: {error}") from error


async def read(pool: Pool, query: str, values: Iterable[str]) -> Sequence[asyncpg.Record]:
    """Return the rows of *query* for *values*.

    Raises:
        KeysUnavailable: The database is away.
    """
    return await fetched(pool, query, list(values))


async def fetched(pool: Pool, query: str, *arguments: object) -> Sequence[asyncpg.Record]:
    """Return the rows of *query*, a transaction by itself.

    Raises:
        KeysUnavailable: The database is away.
    """
    try:
        async with connected(pool) as connection:
            return await connection.fetch(query, *arguments)
    except DatabaseUnavailable as error:
        raise KeysUnavailable(f"the key store: {error}") from error
