"""Connections to PostgreSQL: opened lazily, few, and never waited on for ever."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

if TYPE_CHECKING:
    Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
    PooledConnection: TypeAlias = asyncpg.pool.PoolConnectionProxy[asyncpg.Record]
    Pool: TypeAlias = asyncpg.Pool[asyncpg.Record]
else:
    Connection, PooledConnection, Pool = (
        asyncpg.Connection,
        asyncpg.pool.PoolConnectionProxy,
        asyncpg.Pool,
    )

#: Connections of one pool.
MOST = 10
#: A statement that takes longer is ended by the server.
STATEMENT_TIMEOUT_S = 10.0
#: Opening a connection, and waiting for a free one.
CONNECT_TIMEOUT_S = 5.0


class DatabaseAway(Exception):
    """PostgreSQL cannot be reached or cannot answer now; a statement may have been done."""


#: What asyncpg raises when the server, the network or the connection is at fault, not the
#: statement.  SQLSTATE classes 08 (connection), 53 (resources), 57 (operator), 58 (system).
AWAY = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.OperatorInterventionError,
    asyncpg.PostgresSystemError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby: the old primary after a failover
)


@asynccontextmanager
async def open_pool(
    dsn: str,
    *,
    role: str,
    most: int = MOST,
    statement_timeout_s: float = STATEMENT_TIMEOUT_S,
) -> AsyncIterator[Pool]:
    """Yield a pool of at most *most* connections, closed when left.

    Nothing is connected yet: a service starts while its database is still away.

    Args:
        dsn: ``postgresql://user:password@host:port/database``; ``sslmode`` and
            ``sslrootcert`` as in libpq.
        role: Shown in ``pg_stat_activity.application_name`` after ``cs``.
        most: Connections at once.
        statement_timeout_s: Of every statement.

    Raises:
        ValueError: *dsn* is none.
    """
    milliseconds = str(int(statement_timeout_s * 1000))
    pool = asyncpg.create_pool(
        dsn,
        min_size=0,
        max_size=most,
        max_inactive_connection_lifetime=60,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=statement_timeout_s + 1,  # ours, if the server does not answer at all
        server_settings={
            "application_name": f"cs {role}",
            "statement_timeout": milliseconds,
            "idle_in_transaction_session_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "timezone": "UTC",
        },
    )
    async with pool:
        try:
            yield pool
        finally:
            pool.terminate()  # `close` would wait for a connection that never answers


@contextmanager
def away_is_told() -> Iterator[None]:
    """Turn what asyncpg raises when PostgreSQL is away into `DatabaseAway`."""
    try:
        yield
    except AWAY as error:
        raise DatabaseAway(f"PostgreSQL: {str(error) or type(error).__name__}") from error


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[PooledConnection]:
    """Run one transaction.

    Raises:
        DatabaseAway: PostgreSQL is away; whether the transaction was stored is not known.
    """
    with away_is_told():
        async with (
            pool.acquire(timeout=CONNECT_TIMEOUT_S) as connection,
            connection.transaction(),
        ):
            yield connection
