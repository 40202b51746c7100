"""How empty views begin: with rows of another generation, if those are of this log."""

from structlog import get_logger

from cs.eventlog.damage import read_past
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import EventLog
from cs.projections.generation import NO_COPIES, CopiedRows, Generation
from cs.projections.port import UNREADABLE, Views, named

log = get_logger()


async def begin_with_copies(events: EventLog, views: Views, epoch: int | None) -> None:
    """Begin *views* with what another generation has of the log *events*, if one has any.

    Raises:
        LogUnavailable: The log, or which generations there are, cannot be read now.
    """
    others = await views.others()
    head = await events.head() if others else 0
    for other in others:
        try:
            copies = await _copied(events, views, other, head, epoch)
        except LogUnavailable as error:  # the others may do, and else the log does
            log.warning("views_not_copied", generation=other.name, why=str(error))
            continue
        if copies.projections:
            names = " ".join(copies.projections)
            log.info("views_copied", projections=names, upto=copies.position)
            return


async def _copied(
    events: EventLog, views: Views, other: Generation, head: int, epoch: int | None
) -> CopiedRows:
    if other.position > head or not await is_of_log(events, other):
        return NO_COPIES
    return await views.copy_from(other, epoch)


async def is_of_log(events: EventLog, rows: Generation | CopiedRows) -> bool:
    """Return whether the last event that *rows* reflect is the one at that position."""
    if not rows.position:
        return True
    found = await read_past(events, rows.position - 1, 1)
    names = [named(recorded) for recorded in found]
    return names == [rows.last_event] or UNREADABLE in [*names, rows.last_event]
