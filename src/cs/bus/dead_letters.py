"""Unreadable and unhandled records: published unchanged, with their place and the reason."""

from structlog import get_logger

from cs.bus.port import Bus, BusUnavailable, Record
from cs.bus.topics import DEAD_LETTERS, UNREADABLE
from cs.domain.cause import raised_at
from cs.domain.stages.limits import BeyondLimits
from cs.runtime.coordination import leaf_errors

log = get_logger()


async def dead_letter(bus: Bus, record: Record, error: Exception) -> None:
    """Publish *record* to the dead letters; what cannot be kept now is only logged.

    An *error* that is none of `UNREADABLE` came from handling it: a bug, or damage that
    lies elsewhere.  Its words are not logged, since they may name a person.
    """
    what = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    if isinstance(error, BeyondLimits):
        log.warning("record_unreadable", **what, error=type(error).__name__, where=error.where)
    elif isinstance(error, UNREADABLE):
        log.warning("record_unreadable", **what, error=type(error).__name__)
    else:
        cause = _first(error)
        log.error("record_not_handled", **what, error=type(cause).__name__, at=raised_at(cause))
    await publish_dead_letter(bus, record, error)


async def publish_dead_letter(bus: Bus, record: Record, error: Exception) -> None:
    """Do as `dead_letter`, without a line in the log: the caller has one of its own."""
    headers = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "error": type(_first(error)).__name__,
    }
    try:
        await bus.publish(DEAD_LETTERS, key=record.key, value=record.value, headers=headers)
    except BusUnavailable as unavailable:
        log.warning("dead_letter_lost", topic=record.topic, why=str(unavailable))


def _first(error: Exception) -> Exception:
    """Return *error*, or the first one inside it if it is a group."""
    return next(leaf_errors(ExceptionGroup("", [error])))
