"""Reading a log as it grows."""

from collections.abc import AsyncIterator, Sequence

from cs.eventlog.port import EventLog, Recorded


async def follow(
    log: EventLog, after: int, *, page: int = 500
) -> AsyncIterator[Sequence[Recorded]]:
    """Yield pages of events after position *after*, for ever, in order of position."""
    while True:
        events = await log.tail(after, page)
        if events:
            after = events[-1].position
            yield events
        else:
            await log.grown(after)
