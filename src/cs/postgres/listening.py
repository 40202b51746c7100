"""LISTEN: waiting for what other processes commit, sooner than a poll would find it.

A notification is a hint and nothing more: it comes within milliseconds, or not at all if the
connection it would come by has died.  So a reader reads once the listening has begun, after
every notification, and from time to time anyway.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import asyncpg
from structlog import get_logger

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import (
    CONNECT_TIMEOUT_S,
    DedicatedConnection,
    Pool,
    PooledConnection,
    translate_errors,
)

log = get_logger()

#: How long to wait for a notification before looking without one.
POLL_S = 1.0


@dataclass
class _Session:
    """One connection that listens."""

    connection: PooledConnection
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False


class Listener:
    """Listens on *channel* with one connection of *pool*, and with another when that is lost.

    It has one user at a time, which calls `connect`, reads what may be new, and calls `wait`,
    again and again, also after an error.

    Args:
        pool: Gives the connection.
        channel: As in ``NOTIFY``.
        on_payload: Called with the text of each notification as it comes; `wait` then does
            not return for it.
        own_backend: Gives the process id of a backend whose notifications are passed over.
    """

    def __init__(
        self,
        pool: Pool,
        channel: str,
        on_payload: Callable[[str], None] | None = None,
        *,
        own_backend: Callable[[], int | None] = lambda: None,
    ) -> None:
        self._dedicated = DedicatedConnection(pool)
        self._channel = channel
        self._on_payload = on_payload
        self._own_backend = own_backend
        self._session: _Session | None = None

    async def connect(self) -> PooledConnection:
        """Return the connection that listens; what is committed from now on ends `wait`.

        Raises:
            DatabaseUnavailable: There is none to be had.
        """
        if self._session is not None:
            self._session.woken.clear()
        connection = await self._dedicated.get()
        if self._session is None or self._session.connection is not connection:
            self._session = await self._listen(connection)
        return connection

    async def _listen(self, connection: PooledConnection) -> _Session:
        session = _Session(connection)

        def on_notification(
            _connection: object, backend: int, _channel: str, payload: object
        ) -> None:
            if backend == self._own_backend():
                return
            if self._on_payload is None:
                session.woken.set()
            else:
                self._on_payload(str(payload))

        def on_end(*_: object) -> None:
            session.ended = True
            session.woken.set()

        try:
            with translate_errors():
                connection.add_termination_listener(on_end)
                await connection.add_listener(self._channel, on_notification)
        except BaseException:
            await self.close()
            raise
        return session

    async def wait(self, at_most_s: float) -> bool:
        """Return whether there was a notification since `connect`, within *at_most_s*.

        Raises:
            DatabaseUnavailable: The connection ended.
        """
        session = self._session
        assert session is not None, "it was connected"
        try:
            async with asyncio.timeout(at_most_s):
                await session.woken.wait()
        except TimeoutError:
            return False
        if session.ended:
            await self.close()
            raise DatabaseUnavailable(f"PostgreSQL: the connection to {self._channel} ended")
        return True

    async def check(self) -> None:
        """Ask the server something: a connection cut without a word would never notify.

        Raises:
            DatabaseUnavailable: It does not answer.
        """
        assert self._session is not None, "it was connected"
        try:
            with translate_errors():
                await self._session.connection.execute("SELECT 1", timeout=CONNECT_TIMEOUT_S)
        except DatabaseUnavailable:
            await self.close()
            raise

    async def close(self) -> None:
        """Give the connection up; `connect` takes another."""
        self._session = None
        await self._dedicated.drop()


async def notifications(pool: Pool, channel: str) -> AsyncIterator[None]:
    """Yield whenever *channel* may have news, for ever: first when the listening begins.

    While there is no connection it yields every `POLL_S` all the same.  Notifications that
    come faster than they are taken are one.
    """
    listener = Listener(pool, channel)
    try:
        while True:
            try:
                await listener.connect()
                yield
                if not await listener.wait(POLL_S):
                    await listener.check()
            except (DatabaseUnavailable, asyncpg.PostgresError) as error:
                log.warning("not_listening", channel=channel, why=str(error))
                await listener.close()
                await asyncio.sleep(POLL_S)
                yield
    finally:
        await listener.close()
