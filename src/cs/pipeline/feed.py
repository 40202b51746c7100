"""Copies every event from the event log to ``cs.events``, for other teams.

Events go out as they are stored: personal values sealed, no data key in reach.  At least
once, and those of one stream in order.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec
from structlog import get_logger

from cs.bus.headers import event_headers
from cs.bus.port import Bus, BusUnavailable
from cs.bus.topics import EVENTS, UNREADABLE, PublicEvent, encode
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import DamagedEvent, EventLog, LogUnavailable, SealedEvent
from cs.metrics.metrics import Metrics
from cs.pipeline.lanes import Lanes

log = get_logger()

#: Wait before a record that the bus did not take is published again.
RETRY_S = 0.5
#: Events read at once; their streams are published side by side.
PAGE = 500
#: Events read and not published yet; with more of them the log is read no further.
WAITING = 5_000
#: Wait before a damaged event is looked at again.
MENDED_S = 5.0


async def feed(
    events: EventLog,
    bus: Bus,
    *,
    after: int,
    save_position: Callable[[int], Awaitable[None]],
    metrics: Metrics | None = None,
) -> None:
    """Publish every event after position *after*, for ever.

    What the bus does not take is offered until it does: a reader of the feed has no other
    way to learn of it.  An event that is damaged, or that no partition takes, holds up its own
    stream and no other.  *save_position* is called with positions up to which all is
    published: from there on some may be published twice.

    Raises:
        Exception: What *save_position* raises.
    """

    async def publish(row: SealedEvent | int) -> None:
        event = await _read_mended(events, row) if isinstance(row, int) else row
        await _publish(event, bus)

    lanes = Lanes(publish, after=after, capacity=WAITING)
    position = (metrics or Metrics()).follower_position
    with position.measured(lambda: lanes.position, "feed"):
        await lanes.run(_pages(events, after), save_position)


async def _pages(
    events: EventLog, after: int
) -> AsyncIterator[tuple[list[tuple[str, int, SealedEvent | int]], int]]:
    """Yield all events after *after*, the position alone of one that cannot be published."""
    while True:
        page = await retry_while_unavailable(partial(_page, events, after))
        items = list[tuple[str, int, SealedEvent | int]]()
        for row in page:
            if isinstance(row, int):
                items.append((f"{row}", row, row))
            else:
                item = row if _is_event(row) else row.position
                items.append((row.stream, row.position, item))
        if items:
            after = items[-1][1]
            yield items, after
        else:
            await events.grown(after)


async def _page(events: EventLog, after: int) -> Sequence[SealedEvent | int]:
    """Return what comes after *after*; the position alone of an event that is missing."""
    limit = PAGE
    while True:
        try:
            return await events.stored(after, limit)
        except DamagedEvent as damaged:
            if damaged.position == after + 1:
                return [damaged.position]
            limit = damaged.position - after - 1


async def _read_mended(events: EventLog, position: int) -> SealedEvent:
    """Return the event at *position*, which was damaged, as soon as it is mended."""
    log.error("feed_waits_for_damaged_event", position=position)
    while True:
        with suppress(LogUnavailable):
            page = await events.stored(position - 1, 1)
            if page and page[0].position == position and _is_event(page[0]):
                return page[0]
        await asyncio.sleep(MENDED_S)


def _is_event(row: SealedEvent) -> bool:
    """Return whether *row* can be published: damage may leave JSON, but of no event."""
    try:
        msgspec.json.decode(row.state)  # all of it; the headers need one field
        event_headers(_public(row))
    except (*UNREADABLE, TypeError):
        return False
    return True


def _public(row: SealedEvent) -> PublicEvent:
    return PublicEvent(
        position=row.position,
        stream=row.stream,
        version=row.version,
        topic=row.topic,
        state=msgspec.Raw(row.state),
    )


async def _publish(row: SealedEvent, bus: Bus) -> None:
    event = _public(row)
    key, value, headers = row.stream.encode(), encode(event), event_headers(event)
    while True:
        try:
            await bus.publish(EVENTS, key=key, value=value, headers=headers)
        except BusUnavailable as error:
            log.warning("event_not_published", position=row.position, why=str(error))
            await asyncio.sleep(RETRY_S)
        else:
            return
