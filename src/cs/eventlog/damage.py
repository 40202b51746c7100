"""Streams that cannot be read are set aside, so that all others go on.

A damaged event stays where it is, and a reader of the log gets an `UnreadableEvent` in its
place.  The damage is listed on ``/readyz`` until an operator has mended it; then every part
that passed over the stream resumes it, without a restart (docs/decisions, 19).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from structlog import get_logger

from cs.eventlog.port import (
    NO_EVENT,
    NO_STREAM,
    DamagedEvent,
    EventLog,
    EventNeeds,
    LogUnavailable,
    RecordedEvent,
)
from cs.runtime.coordination import leaf_errors
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: How often a damaged event is looked at again.
RETRY_S = 5.0
#: How often a stream that stays damaged is logged again.
LOG_EVERY_S = 60.0
#: Damage listed on ``/readyz``; of the rest only how much there is.
NAMED = 5
#: Events of a stream read at once.
PAGE = 500
#: Longest wait between two tries of a stream that can be read but makes no sense.
MOST_S = 300.0


class UnreadableEvent(RecordedEvent, frozen=True):
    """Stands in a page where a damaged event is.

    Attributes:
        stream: Empty if the log lacks the event.
        event: `NO_EVENT`.
        why: What is wrong.
    """

    why: str = ""


async def read_past(
    events: EventLog,
    after: int,
    limit: int = 500,
    set_aside: "DamagedStreams | None" = None,
    wanted: EventNeeds | None = None,
) -> Sequence[RecordedEvent]:
    """Return what `EventLog.tail` does, an `UnreadableEvent` in the place of a damaged one.

    A page ends before a damaged event, or is that one alone, noted in *set_aside*.

    Raises:
        LogUnavailable, NewerEvent: As `EventLog.tail`.
    """
    while True:
        try:
            return await events.tail(after, limit, wanted)
        except DamagedEvent as damaged:
            if damaged.position == after + 1:
                if set_aside is not None:
                    set_aside.note(damaged)
                place = damaged.position, damaged.stream, damaged.version
                return [UnreadableEvent(*place, NO_EVENT, why=str(damaged))]
            limit = damaged.position - after - 1


class DamagedStreams:
    """The streams of *events* that this process found damaged.

    A follower that passes over damage notes it here, and resumes the stream when it is called
    with the damage that was mended (`on_mended`).
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._retries = RetrySchedule()
        self._damaged: dict[str, DamagedEvent] = {}  # by stream, or @position without one
        self._throttle = LogThrottle(LOG_EVERY_S)
        self._listeners: list[Callable[[DamagedEvent], Awaitable[None]]] = []

    def note(self, damaged: DamagedEvent) -> None:
        """Set the stream of *damaged* aside, from its first damaged event on."""
        place = damaged.stream or f"@{damaged.position}"
        before = self._damaged.get(place)
        if before is None or damaged.version < before.version:
            self._damaged[place] = damaged
        if self._throttle.allow(place) is not None:
            log.error(
                "stream_set_aside",
                position=damaged.position,
                version=damaged.version,
                do="find it with: cs log verify; bring it back from a backup",
            )

    def __contains__(self, stream: str) -> bool:
        return stream in self._damaged

    @property
    def why(self) -> list[str] | None:
        """What is set aside, for people; ``None`` if nothing is."""
        if not self._damaged:
            return None
        named = [_describe(damaged) for damaged in list(self._damaged.values())[:NAMED]]
        more = len(self._damaged) - len(named)
        return [*named, f"and {more} more"] if more else named

    @contextmanager
    def on_mended(self, listener: Callable[[DamagedEvent], Awaitable[None]]) -> Iterator[None]:
        """Call *listener* with each damage that is mended, until left."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    async def watch(self) -> None:
        """Check for ever whether what is damaged was mended."""
        while True:
            await asyncio.sleep(RETRY_S)
            await self.look()

    async def look(self) -> None:
        """Resume what is mended; after a vain try more and more rarely."""
        for place, damaged in list(self._damaged.items()):
            if not await self._is_mended(damaged) or not self._retries.is_due(place):
                continue
            del self._damaged[place]
            resumed = [await self._resume(each, damaged) for each in list(self._listeners)]
            if all(resumed):  # else it is only put off
                self._retries.tried(place, RETRY_S)
            if place not in self._damaged:
                self._throttle.forget(place)
                log.info("stream_mended", position=damaged.position, version=damaged.version)

    async def _resume(
        self, listener: Callable[[DamagedEvent], Awaitable[None]], damaged: DamagedEvent
    ) -> bool:
        """Call *listener*; return whether it could read the stream, whatever it then found."""
        # A listener may have tasks of its own, whose errors come as a group.
        tried = True
        try:
            await listener(damaged)
        except* DamagedEvent as further:
            for each in leaf_errors(further):
                self.note(each)
        except* LogUnavailable:
            self.note(damaged)  # and again, when the log is back
            tried = False
        return tried

    async def _is_mended(self, damaged: DamagedEvent) -> bool:
        try:
            if damaged.stream:
                await self._events.read(damaged.stream, damaged.version - 1, 1)
            else:
                await self._events.tail(damaged.position - 1, 1)
        except DamagedEvent as further:
            self.note(further)
            return False
        except LogUnavailable:
            return False
        return True


async def events_since(
    events: EventLog, damaged: DamagedEvent
) -> AsyncIterator[Sequence[RecordedEvent]]:
    """Yield, in pages, the events of a mended stream from the one that was damaged on.

    Raises:
        LogUnavailable, DamagedEvent, NewerEvent: As `EventLog.read`.
    """
    stream, after = damaged.stream, damaged.version - 1
    if not stream:
        found = await events.tail(damaged.position - 1, 1)
        if not found:
            return
        stream, after = found[0].stream, found[0].version - 1
    while page := await events.read(stream, max(after, NO_STREAM), PAGE):
        yield page
        after = page[-1].version


def _describe(damaged: DamagedEvent) -> str:
    """Return what *damaged* is, without its stream's name, which may identify a customer."""
    if not damaged.position:
        return f"an event is missing before version {damaged.version + 1} of its stream"
    return f"the event at position {damaged.position} cannot be read"


class RetrySchedule:
    """When a stream that can be read but makes no sense is tried again.

    Each vain try doubles the wait, up to `MOST_S`: it costs something, and mostly finds the
    same.
    """

    def __init__(self) -> None:
        self._tried: dict[str, tuple[float, float]] = {}  # the last wait, and its end

    def is_due(self, place: str) -> bool:
        _, next_at = self._tried.get(place, (0.0, 0.0))
        return time.monotonic() >= next_at

    def tried(self, place: str, least_s: float) -> None:
        """Take note that *place* was tried: next in *least_s*, or in twice the last wait."""
        now = time.monotonic()
        self._tried = {p: t for p, t in self._tried.items() if now < t[1] + MOST_S}
        wait_s, _ = self._tried.get(place, (least_s / 2, 0.0))
        wait_s = min(2 * wait_s, MOST_S)
        self._tried[place] = (wait_s, now + wait_s)
