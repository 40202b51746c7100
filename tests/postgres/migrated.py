"""Pools of databases that have the service's schema."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import migrate


@asynccontextmanager
async def migrated(dsn: str, *, role: str = "test") -> AsyncIterator[Pool]:
    async with open_pool(dsn, role=role) as pool:
        async with connected(pool) as connection:
            await migrate(connection, "service")
        yield pool
