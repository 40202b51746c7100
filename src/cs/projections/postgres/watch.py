"""Hearing that something was committed in PostgreSQL, sooner than a look a second tells."""

import asyncio

import asyncpg

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import CONNECT_TIMEOUT_S, Pool, PooledConnection, translate_errors

#: Notices are hints: without one, whoever waits looks again after this time.
LOOK_S = 1.0


class Watch:
    """Listens on *channel* with a connection of its own, opened again when it was lost."""

    def __init__(self, pool: Pool, channel: str) -> None:
        self._pool = pool
        self._channel = channel
        self._connection: PooledConnection | None = None
        self._told = asyncio.Event()

    async def opened(self) -> None:
        """Listen; what is committed from now on is heard of.

        Raises:
            DatabaseUnavailable: PostgreSQL cannot be reached.
        """
        self._told.clear()
        if self._connection is not None and _alive(self._connection):
            return
        await self.close()
        with translate_errors():
            connection = await self._pool.acquire(timeout=CONNECT_TIMEOUT_S)
            self._connection = connection
            try:
                await connection.add_listener(self._channel, self._on_notification)
            except BaseException:
                await self.close()
                raise

    async def stirred(self) -> None:
        """Return when something was told since `opened`, or after `LOOK_S`.

        Raises:
            DatabaseUnavailable: The connection does not answer.
        """
        try:
            async with asyncio.timeout(LOOK_S):
                await self._told.wait()
        except TimeoutError:
            await self._check()

    async def _check(self) -> None:
        """Ask something: a connection cut without a word would never tell again."""
        assert self._connection is not None, "it was opened"
        try:
            with translate_errors():
                await self._connection.execute("SELECT 1", timeout=CONNECT_TIMEOUT_S)
        except DatabaseUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and _alive(connection):
            connection.terminate()  # nothing of it is in doubt
            await self._pool.release(connection)

    def _on_notification(self, *_: object) -> None:
        self._told.set()


def _alive(connection: PooledConnection) -> bool:
    try:
        return not connection.is_closed()
    except asyncpg.InterfaceError:  # it was cut, and went back to the pool
        return False
