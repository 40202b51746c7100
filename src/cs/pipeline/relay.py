"""Copies issued work from the event log to the stage topics, in order.

Append first, publish after: nobody writes to both.  What the log holds is published as
stored; a record that was published and lost is issued again by the driver.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from structlog import get_logger

from cs import failpoints
from cs.bus.headers import work_headers
from cs.bus.port import Bus, BusUnavailable
from cs.bus.topics import STAGE_TOPICS, encode, work_key
from cs.clock import Clock
from cs.domain.brand_events import StageIssued
from cs.domain.stage_work import Work
from cs.eventlog.follow import follow
from cs.eventlog.hold import Hold
from cs.eventlog.port import EventLog

log = get_logger()

#: Wait before a bus that did not take a record is given it again.
RETRY_S = 0.5


async def relay(
    events: EventLog,
    bus: Bus,
    *,
    after: int,
    patient_by: Clock | None = None,
    keep: Callable[[int], Awaitable[None]] | None = None,
) -> None:
    """Publish every `StageIssued` after position *after*, for ever.

    Work that the bus does not take is offered again until its deadline has passed by
    *patient_by*; without that clock it is offered once, since a bus in this process has
    room or it has not.  *keep* is called with each position that has been relayed.

    At an event of a newer version it stands still, also if that may be no work: to say so
    would be a guess.  With *keep* there may be other processes, and it gives up instead.

    Raises:
        NewerEvent: It gives up; one of that version is to go on.
        Exception: What *keep* raises.
    """
    hold = Hold("relay") if keep is None else None
    async for page in follow(events, after, hold=hold):
        issued = [each.event for each in page if isinstance(each.event, StageIssued)]
        await _publish_all(issued, bus, patient_by)
        if keep is not None:
            await keep(page[-1].position)


async def _publish_all(
    issued: Sequence[StageIssued], bus: Bus, patient_by: Clock | None
) -> None:
    """Publish *issued* side by side, what belongs to one lookup in its order."""
    by_lookup: dict[str, list[StageIssued]] = {}
    for event in issued:
        by_lookup.setdefault(event.lookup, []).append(event)

    async def in_order(events: Sequence[StageIssued]) -> None:
        for event in events:
            failpoints.reach("relay.before-publish")
            await _publish(event, bus, patient_by)
            failpoints.reach("relay.after-publish")

    if len(by_lookup) == 1:
        await in_order(issued)
        return
    async with asyncio.TaskGroup() as tasks:
        for events in by_lookup.values():
            tasks.create_task(in_order(events))


async def _publish(event: StageIssued, bus: Bus, patient_by: Clock | None) -> None:
    work = Work(
        lookup=event.lookup,
        stage=event.stage,
        item=event.item,
        attempt=event.attempt,
        deadline_at=event.deadline_at,
        input=event.input,
    )
    topic, headers = STAGE_TOPICS[event.stage], work_headers(work)
    while True:
        try:
            await bus.publish(topic, key=work_key(work), value=encode(work), headers=headers)
        except BusUnavailable as error:
            # Silence would issue it again too, but only so often.
            log.warning(
                "work_not_published", lookup=event.lookup, stage=event.stage, why=str(error)
            )
            if patient_by is None or patient_by.now() >= event.deadline_at:
                return
            await asyncio.sleep(RETRY_S)
        else:
            return
