"""Records nobody can read: kept as they were, with where they stood and why."""

from structlog import get_logger

from cs.bus.port import Bus, BusUnavailable, Record
from cs.bus.topics import DEAD_LETTERS

log = get_logger()


async def dead_letter(bus: Bus, record: Record, error: Exception) -> None:
    """Publish *record* to the dead letters; what cannot be kept now is only logged."""
    log.warning(
        "record_unreadable",
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        error=type(error).__name__,
    )
    headers = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "error": type(error).__name__,
    }
    try:
        await bus.publish(DEAD_LETTERS, key=record.key, value=record.value, headers=headers)
    except BusUnavailable as away:
        log.warning("dead_letter_lost", topic=record.topic, why=str(away))
