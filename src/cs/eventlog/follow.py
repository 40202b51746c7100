"""Reading a log as it grows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from structlog import get_logger

from cs.eventlog.port import EventLog, LogUnavailable, Recorded

log = get_logger()

T = TypeVar("T")

#: Wait before a log that could not be read or written is tried again.
RETRY_S = 0.5


async def follow(
    events: EventLog, after: int, *, page: int = 500
) -> AsyncIterator[Sequence[Recorded]]:
    """Yield pages of events after position *after*, for ever, in order of position."""
    while True:
        found = await patiently(partial(events.tail, after, page))
        if found:
            after = found[-1].position
            yield found
        else:
            await events.grown(after)


async def patiently(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what *attempt* gives, however long the log is away.

    For what runs in the background: nobody is there to be told, and giving up would
    stop the service.
    """
    while True:
        try:
            return await attempt()
        except LogUnavailable as error:
            log.warning("log_away", why=str(error), retry_in_s=RETRY_S)
            await asyncio.sleep(RETRY_S)
