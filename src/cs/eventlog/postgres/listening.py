"""Hearing that a log in PostgreSQL grew: notifications, and a look every second.

A notification is a hint: it comes within milliseconds, or not at all if the connection it
would come by has died.  So the last position is read after the listening began, and again
and again.
"""

import asyncio
from collections.abc import Callable

import asyncpg
from structlog import get_logger

from cs.postgres.dedicated_connection import DedicatedConnection
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, PooledConnection, translate_errors

log = get_logger()

#: Where ``append_events`` tells of the last position.
CHANNEL = "stored_events"
#: How often the last position is read all the same.
POLL_S = 1.0
#: How long that may take before another connection is tried.
_ANSWER_S = 2.0
#: Wait before the next connection is tried.
_RETRY_S = 0.25


class Listening:
    """Calls *moved* with the last position whenever it is heard of.

    One connection for however many wait.
    """

    def __init__(self, pool: Pool, moved: Callable[[int], None]) -> None:
        self._kept = DedicatedConnection(pool)
        self._moved = moved

    async def run(self) -> None:
        """Listen until cancelled, on another connection when one dies."""
        try:
            while True:
                try:
                    await self._listen(await self._kept.get())
                except (DatabaseUnavailable, asyncpg.PostgresError) as error:
                    log.warning("log_not_heard", why=str(error), retry_in_s=_RETRY_S)
                await self._kept.drop()
                await asyncio.sleep(_RETRY_S)
        finally:
            await self._kept.drop()

    async def _listen(self, connection: PooledConnection) -> None:
        """Listen on *connection* until it ends.

        Raises:
            DatabaseUnavailable: It does not answer.
        """
        ended = asyncio.Event()

        def end(*_: object) -> None:
            ended.set()

        def on_notification(
            _connection: object, _pid: int, _channel: str, payload: object
        ) -> None:
            if isinstance(payload, str) and payload.isdigit():  # the library's are empty
                self._moved(int(payload))

        with translate_errors():
            connection.add_termination_listener(end)
            await connection.add_listener(CHANNEL, on_notification)
            while not ended.is_set():
                self._moved(await connection.fetchval(LAST_POSITION, timeout=_ANSWER_S))
                await _wait(ended, POLL_S)


async def _wait(event: asyncio.Event, at_most_s: float) -> None:
    try:
        async with asyncio.timeout(at_most_s):
            await event.wait()
    except TimeoutError:
        pass


LAST_POSITION = "SELECT COALESCE(max(notification_id), 0) FROM stored_events"
