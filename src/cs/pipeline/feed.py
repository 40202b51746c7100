"""Copies every event from the event log to ``cs.events``, for other teams.

Events go out as they are stored: personal values sealed, no data key in reach.  At least
once, and those of one stream in order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import msgspec
from structlog import get_logger

from cs.bus.headers import event_headers
from cs.bus.port import Bus, BusUnavailable
from cs.bus.topics import EVENTS, PublicEvent, encode
from cs.eventlog.follow import patiently
from cs.eventlog.port import EventLog, Stored

log = get_logger()

#: Wait before a bus that did not take a record is given it again.
RETRY_S = 0.5
#: Events read at once; their streams are published side by side.
PAGE = 500


async def feed(
    events: EventLog, bus: Bus, *, after: int, keep: Callable[[int], Awaitable[None]]
) -> None:
    """Publish every event after position *after*, for ever.

    What the bus does not take is offered until it does: a reader of the feed has no other
    way to hear of it.  *keep* is called with each position up to which all is published.

    Raises:
        Exception: What *keep* raises.
    """
    while True:
        page = await patiently(partial(events.stored, after, PAGE))
        if not page:
            await events.grown(after)
            continue
        await _publish_all(page, bus)
        after = page[-1].position
        await keep(after)


async def _publish_all(page: Sequence[Stored], bus: Bus) -> None:
    """Publish *page*, what belongs to one stream in its order."""
    by_stream: dict[str, list[Stored]] = {}
    for each in page:
        by_stream.setdefault(each.stream, []).append(each)

    async def in_order(rows: Sequence[Stored]) -> None:
        for row in rows:
            await _publish(row, bus)

    async with asyncio.TaskGroup() as tasks:
        for rows in by_stream.values():
            tasks.create_task(in_order(rows))


async def _publish(row: Stored, bus: Bus) -> None:
    event = PublicEvent(
        position=row.position,
        stream=row.stream,
        version=row.version,
        topic=row.topic,
        state=msgspec.Raw(row.state),
    )
    key, value, headers = row.stream.encode(), encode(event), event_headers(event)
    while True:
        try:
            await bus.publish(EVENTS, key=key, value=value, headers=headers)
        except BusUnavailable as error:
            log.warning("event_not_published", position=row.position, why=str(error))
            await asyncio.sleep(RETRY_S)
        else:
            return
