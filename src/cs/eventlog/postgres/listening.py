"""Learning that a log in PostgreSQL grew: notifications, and a look every second.

A notification may be lost (`cs.postgres.listening`), so the last position is read once the
listening has begun, and again and again.
"""

import asyncio
from collections.abc import Callable

import asyncpg
from structlog import get_logger

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.listening import Listener
from cs.postgres.pool import Pool, translate_errors

log = get_logger()

#: Where ``append_events`` notifies of the last position.
CHANNEL = "stored_events"
#: How often the last position is read all the same.
POLL_S = 1.0
#: How long that may take before another connection is tried.
_ANSWER_S = 2.0
#: Wait before the next connection is tried.
_RETRY_S = 0.25


async def follow_last_position(
    pool: Pool,
    on_position: Callable[[int], None],
    *,
    own_backend: Callable[[], int | None] = lambda: None,
) -> None:
    """Call *on_position* with the last position whenever it is learned, until cancelled.

    Takes one connection of *pool*, for however many wait, and another when it dies.

    Args:
        pool: Gives the connection.
        on_position: Called in no order: the position may have been told before.
        own_backend: Gives the process id of the backend that appends for this process, which
            learns of those by their answers.
    """

    def on_payload(payload: str) -> None:
        if payload.isdigit():  # the library's are empty
            on_position(int(payload))

    listener = Listener(pool, CHANNEL, on_payload, own_backend=own_backend)
    try:
        while True:
            try:
                connection = await listener.connect()
                with translate_errors():
                    last = await connection.fetchval(LAST_POSITION, timeout=_ANSWER_S)
                on_position(last)
                await listener.wait(POLL_S)
            except (DatabaseUnavailable, asyncpg.PostgresError) as error:
                log.warning("log_not_heard", why=str(error), retry_in_s=_RETRY_S)
                await listener.close()
                await asyncio.sleep(_RETRY_S)
    finally:
        await listener.close()


LAST_POSITION = "SELECT COALESCE(max(notification_id), 0) FROM stored_events"
