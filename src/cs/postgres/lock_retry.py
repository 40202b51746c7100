"""Steps that lock out others: one that would have to wait long is given up and tried again."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg

from cs.postgres.pool import Pool, PooledConnection, connected

#: At most so long for all that replaces a table: 5 million data keys are about 1 GiB.
WRITE_ANEW_S = 600
#: How long a step waits for its lock before others go first, and when it tries again.
LOCK_PATIENCE_MS = 100
LOCK_AGAIN_S = 0.5


async def retry_while_locked(
    pool: Pool, step: Callable[[PooledConnection], Awaitable[None]]
) -> None:
    """Do *step* in a transaction, again until nobody is in its way.

    Raises:
        DatabaseUnavailable: PostgreSQL is away.
    """
    while True:
        try:
            async with connected(pool) as connection, connection.transaction():
                await connection.execute(_PATIENCE)
                try:
                    await step(connection)
                except asyncpg.LockNotAvailableError:
                    raise _TableLocked from None
        except _TableLocked:
            await asyncio.sleep(LOCK_AGAIN_S)
        else:
            return


class _TableLocked(Exception):
    """Somebody else uses the table in a way that goes on for longer than others may wait."""


#: Who waits for a lock has everybody else wait behind him.
_PATIENCE = f"""
SET LOCAL lock_timeout = {LOCK_PATIENCE_MS}; SET LOCAL statement_timeout = {WRITE_ANEW_S * 1000}
"""
