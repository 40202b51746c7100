"""A connection kept from one use to the next, for what runs all the time."""

from contextlib import suppress

import asyncpg

from cs.postgres.pool import CONNECT_TIMEOUT_S, Pool, PooledConnection, translate_errors


class DedicatedConnection:
    """Takes one connection of *pool* for itself, another one when that is gone.

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
