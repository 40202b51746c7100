"""Connections to PostgreSQL: opened lazily, few, and never waited on for ever."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

import asyncpg
from asyncpg import connect_utils
from asyncpg.connect_utils import SSLMode
from asyncpg.exceptions import ClientConfigurationError

from cs.postgres.errors import DatabaseUnavailable, InsecureAddress
from cs.runtime.coordination import retrieve_exception
from cs.runtime.local_hosts import is_local

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
#: For statements under way when a pool is left.
CLOSE_TIMEOUT_S = 2.0

_SCHEMES = ("postgresql://", "postgres://")
_NO_ADDRESS = (
    "it is no address of PostgreSQL, or an option of it is wrong; "
    "write / # ? and @ of a password as %2F %23 %3F and %40"
)


#: What asyncpg raises when the server, the network or the connection is at fault, not the
#: statement.  SQLSTATE classes 08 (connection), 28 (who may connect), 40 (rolled back), 53
#: (resources), 57 (operator), 58 (system).
UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a connection that ended at an unlucky moment
    asyncpg.PostgresConnectionError,
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.TransactionRollbackError,
    asyncpg.InsufficientResourcesError,
    asyncpg.LockNotAvailableError,
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
    insecure: bool = False,
) -> AsyncIterator[Pool]:
    """Yield a pool of at most *most* connections, closed when left.

    Nothing is connected yet: a service starts while its database is still away.

    Args:
        dsn: ``postgresql://user:password@host:port/database``; ``sslmode`` and
            ``sslrootcert`` as in libpq.
        role: Shown in ``pg_stat_activity.application_name`` after ``cs``.
        most: Connections at once.
        insecure: Servers on other machines need not prove who they are.

    Raises:
        InsecureAddress: One need not, and *insecure* is not set.
        ValueError: *dsn* is none, an option of it is wrong, or a file that it names cannot
            be used.
    """
    check_address(dsn, insecure=insecure)
    milliseconds = str(int(STATEMENT_TIMEOUT_S * 1000))
    pool = asyncpg.create_pool(
        dsn,
        min_size=0,
        max_size=most,
        max_inactive_connection_lifetime=60,
        timeout=CONNECT_TIMEOUT_S,
        command_timeout=STATEMENT_TIMEOUT_S + 1,  # ours, if the server does not answer at all
        reset=_left_clean,
        server_settings={
            "application_name": f"cs {role}",
            "statement_timeout": milliseconds,
            "idle_in_transaction_session_timeout": milliseconds,
            "lock_timeout": milliseconds,
            "default_transaction_isolation": "read committed",
            "timezone": "UTC",
        },
    )
    async with pool:
        try:
            yield pool
        finally:
            await _close(pool)


def check_address(dsn: str, *, insecure: bool) -> None:
    """Pass if `open_pool` takes *dsn*; nothing is connected.

    Raises:
        InsecureAddress, ValueError: It does not.
    """
    if not dsn.startswith(_SCHEMES):
        raise ValueError(f"a PostgreSQL address begins with {_SCHEMES[0]}")
    if (hosts := unverified_hosts(dsn)) and not insecure:
        raise InsecureAddress(hosts)


def unverified_hosts(dsn: str) -> tuple[str, ...]:
    """Return the hosts of *dsn* on other machines that need not prove who they are.

    Without ``sslmode=verify-full`` any server at the address may ask for the password and
    for everything after it: asyncpg's default is ``prefer``, which goes on in clear if the
    other side says that it has no TLS, and ``require`` takes any certificate (PostgreSQL's
    manual, section "SSL Support", table "SSL Mode Descriptions").

    What counts is what asyncpg makes of *dsn*, of the ``PG…`` variables and of a service
    file, so it is asked itself: whatever was read here as well could be read differently.

    Raises:
        ValueError: *dsn* is none, an option of it is wrong, or a file that it names cannot
            be used.
    """
    # Nothing public says it.
    parse = connect_utils._parse_connect_dsn_and_args  # type: ignore[attr-defined]  # noqa: SLF001
    arguments = dict.fromkeys(inspect.signature(parse).parameters)
    try:
        parts = urlsplit(dsn)
    except ValueError:  # it may repeat a part of the password
        raise ValueError(_NO_ADDRESS) from None
    # asyncpg ends a password at its first @, and takes the rest of it for the host.
    if "@" in parts.netloc.partition("@")[2] + parts.path:
        raise ValueError(_NO_ADDRESS)
    # With a password there is no look into the password file, which may not be there yet.
    try:
        addresses, found = parse(**(arguments | {"dsn": dsn, "password": ""}))
    except OSError as error:  # an ssl.SSLError is one
        why = error.strerror or "not in PEM form"
        raise ValueError(f"a file of sslrootcert, sslcert, sslkey or sslcrl: {why}") from error
    except ClientConfigurationError:
        raise
    except ValueError:  # of urllib, which may repeat a part of the password
        raise ValueError(_NO_ADDRESS) from None
    if found.sslmode >= SSLMode.verify_full:
        return ()
    hosts = (each if isinstance(each, str) else each[0] for each in addresses)
    return tuple(dict.fromkeys(host for host in hosts if not is_local(host)))


async def _left_clean(_connection: object) -> None:
    """Send nothing when a connection is given back: that would double what a read takes.

    asyncpg rolls an open transaction back by itself, and no code here leaves anything else.
    """


async def _close(pool: Pool) -> None:
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await pool.close()
    except (*UNAVAILABLE, asyncpg.PostgresError):
        pool.terminate()  # a connection does not answer, or its user does not end


@contextmanager
def translate_errors() -> Iterator[None]:
    """Turn what asyncpg raises when PostgreSQL is away into `DatabaseUnavailable`."""
    try:
        yield
    except UNAVAILABLE as error:
        if isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
            raise  # of asyncpg's own: the address itself is wrong
        raise DatabaseUnavailable(
            f"PostgreSQL: {str(error) or type(error).__name__}"
        ) from error


@asynccontextmanager
async def connected(pool: Pool) -> AsyncIterator[PooledConnection]:
    """Yield a connection of *pool*, with a bound on the wait for it.

    Raises:
        DatabaseUnavailable: PostgreSQL is away, or every connection is in use.
    """
    with translate_errors():
        connection = await pool.acquire(timeout=CONNECT_TIMEOUT_S)
        try:
            yield connection
        except (Exception, asyncio.CancelledError):
            # It waits until the server gives the statement up, and may fail after a caller who
            # is cancelled again has gone: asyncio would log that error.
            releasing = asyncio.ensure_future(pool.release(connection))
            releasing.add_done_callback(retrieve_exception)
            with suppress(*UNAVAILABLE):  # the first error counts
                await asyncio.shield(releasing)
            raise
        await pool.release(connection)


@asynccontextmanager
async def transaction(pool: Pool) -> AsyncIterator[PooledConnection]:
    """Run one transaction.

    Raises:
        DatabaseUnavailable: Away; whether the transaction was stored is not known.
    """
    async with connected(pool) as connection, connection.transaction():
        yield connection


class DedicatedConnection:
    """Keeps one connection of *pool* from one use to the next, another one when that is gone.

    It has one user at a time.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: PooledConnection | None = None
        self._backend: int | None = None

    @property
    def backend(self) -> int | None:
        """Return the process id of the server's end of the connection, if there is one."""
        return self._backend

    async def get(self) -> PooledConnection:
        """Return the connection, made if there is none that lives.

        Raises:
            DatabaseUnavailable: There is none to be had.
        """
        if self._connection is None or not _lives(self._connection):
            await self.drop()
            with translate_errors():
                self._connection = await self._pool.acquire(timeout=CONNECT_TIMEOUT_S)
            self._backend = self._connection.get_server_pid()
        return self._connection

    async def drop(self) -> None:
        """Cut the connection, whatever is under way on it."""
        connection, self._connection = self._connection, None
        self._backend = None
        if connection is not None:
            with suppress(asyncpg.InterfaceError):  # the pool has noticed its end already
                connection.terminate()
            await self._pool.release(connection)


def _lives(connection: PooledConnection) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:
        return False
