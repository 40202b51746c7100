"""Copies issued work from the event log to the stage topics, in order.

Append first, publish after: nobody writes to both.  What the log holds is published as
stored; a record that was published and lost is issued again by the process manager.
"""

from structlog import get_logger

from cs import failpoints
from cs.bus.port import Bus, BusUnavailable
from cs.bus.topics import STAGE_TOPICS, encode, work_key
from cs.domain.brand_events import StageIssued
from cs.domain.stage_work import Work
from cs.eventlog.follow import follow
from cs.eventlog.port import EventLog

log = get_logger()


async def relay(events: EventLog, bus: Bus, *, after: int) -> None:
    """Publish every `StageIssued` after position *after*, for ever."""
    async for page in follow(events, after):
        for recorded in page:
            if isinstance(recorded.event, StageIssued):
                failpoints.reach("relay.before-publish")
                await _publish(recorded.event, bus)
                failpoints.reach("relay.after-publish")


async def _publish(event: StageIssued, bus: Bus) -> None:
    work = Work(
        lookup=event.lookup,
        stage=event.stage,
        item=event.item,
        attempt=event.attempt,
        deadline_at=event.deadline_at,
        input=event.input,
    )
    try:
        await bus.publish(STAGE_TOPICS[event.stage], key=work_key(work), value=encode(work))
    except BusUnavailable as error:
        # Not retried here: silence issues the work again, with what is known by then.
        log.warning(
            "work_not_published", lookup=event.lookup, stage=event.stage, why=str(error)
        )
