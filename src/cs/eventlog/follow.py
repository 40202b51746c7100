"""Reading a log as it grows."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from structlog import get_logger

from cs.eventlog.damage import DamagedStreams, read_past
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.port import EventLog, EventNeeds, RecordedEvent
from cs.eventlog.version_gate import VersionGate

log = get_logger()

T = TypeVar("T")

#: Wait before a log that could not be read or written is tried again.
RETRY_S = 0.5


async def follow(
    events: EventLog,
    after: int,
    *,
    page: int = 500,
    gate: VersionGate | None = None,
    set_aside: DamagedStreams | None = None,
    wanted: EventNeeds | None = None,
) -> AsyncIterator[Sequence[RecordedEvent]]:
    """Yield pages of events after position *after*, for ever, in order of position.

    At an event of a newer version *gate* stands still.  Without one whoever follows leads,
    and is to give up, so that a process of that version may lead.

    In the place of a damaged event is an `UnreadableEvent`, noted in *set_aside*; what is
    *wanted* of events is as in `EventLog.tail`.

    Raises:
        NewerEvent: Such an event is next, and there is no *gate*.
    """
    while True:
        attempt = partial(
            retry_while_unavailable, partial(read_past, events, after, page, set_aside, wanted)
        )
        found = await (attempt() if gate is None else gate.until_read(attempt))
        if found:
            after = found[-1].position
            yield found
        else:
            await events.grown(after)


async def retry_while_unavailable(attempt: Callable[[], Awaitable[T]]) -> T:
    """Return what *attempt* gives, however long the log is away.

    For what runs in the background: no caller waits for an error, and giving up would stop
    the service.

    Raises:
        NewerEvent, DamagedEvent: Waiting does not help.
    """
    while True:
        try:
            return await attempt()
        except (NewerEvent, DamagedEvent):
            raise
        except LogUnavailable as error:
            log.warning("log_away", why=str(error), retry_in_s=RETRY_S)
            await asyncio.sleep(RETRY_S)
