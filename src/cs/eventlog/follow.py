"""Reading a log as it grows, and standing still at an event that a newer version wrote.

Such an event is neither skipped nor guessed at: a reader that goes on past it would decide,
answer or show something that is not so.  Until this process is upgraded it stands there, and
logs that it does.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from structlog import get_logger

from cs.eventlog.damage import PAGE, DamagedStreams, read_past
from cs.eventlog.port import (
    DamagedEvent,
    EventLog,
    EventNeeds,
    LogUnavailable,
    NewerEvent,
    RecordedEvent,
)
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

T = TypeVar("T")

#: Wait before a log that could not be read or written is tried again.
RETRY_S = 0.5
#: Wait before an event of a newer version is tried again: only another log makes a difference.
HELD_RETRY_S = 5.0
#: How often it is logged again that such an event stands in the way.
LOG_EVERY_S = 60.0


class VersionGate:
    """Keeps one role from going on where it cannot read.

    Args:
        who: What of this process stands still, for the log line.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._held: dict[object, NewerEvent] = {}
        self._throttle = LogThrottle(LOG_EVERY_S)

    @property
    def why(self) -> str | None:
        """What stands in the way; ``None`` if nothing does."""
        first = min(self._held.values(), key=lambda held: held.position, default=None)
        return None if first is None else str(first)

    def check(self) -> None:
        """Return if nothing stands in the way.

        Raises:
            NewerEvent: Something does.
        """
        for held in self._held.values():
            raise NewerEvent(held.position, held.stream, held.topic)

    async def until_read(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what *attempt* gives, once nothing of a newer version stands in its way."""
        here = object()
        try:
            while True:
                try:
                    return await attempt()
                except NewerEvent as error:
                    self._held[here] = error
                    self._log(error)
                await asyncio.sleep(HELD_RETRY_S)
        finally:
            self._release(here)

    def _log(self, held: NewerEvent) -> None:
        if self._throttle.allow(str(held.position)) is not None:
            log.error(
                "held_at_newer_event",
                who=self._who,
                position=held.position,
                topic=held.topic,
                do="upgrade this role to the version that writes this event",
            )

    def _release(self, here: object) -> None:
        held = self._held.pop(here, None)
        if held is not None and held.position not in {e.position for e in self._held.values()}:
            self._throttle.forget(str(held.position))


async def follow(
    events: EventLog,
    after: int,
    *,
    gate: VersionGate | None = None,
    set_aside: DamagedStreams | None = None,
    wanted: EventNeeds | None = None,
) -> AsyncIterator[Sequence[RecordedEvent]]:
    """Yield pages of events after position *after*, for ever, in order of position.

    At an event of a newer version *gate* stands still.  Without one the follower leads,
    and is to give up, so that a process of that version may lead.

    In the place of a damaged event is an `UnreadableEvent`, noted in *set_aside*; what is
    *wanted* of events is as in `EventLog.tail`.

    Raises:
        NewerEvent: Such an event is next, and there is no *gate*.
    """
    while True:
        attempt = partial(
            retry_while_unavailable, partial(read_past, events, after, PAGE, set_aside, wanted)
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
