"""Pools of databases that have a schema of the service's."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import Store, migrate


@asynccontextmanager
async def migrated(
    dsn: str, store: Store = "service", *, role: str = "test"
) -> AsyncIterator[Pool]:
    async with open_pool(dsn, role=role) as pool:
        async with connected(pool) as connection:
            await migrate(connection, store)
        yield pool
