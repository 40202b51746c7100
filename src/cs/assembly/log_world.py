"""Which world a log belongs to, also where the rest of its stream `service` is damaged."""

from cs.domain.service import World, WorldChosen
from cs.eventlog.port import NO_STREAM, EventLog


async def world_of(log: EventLog) -> World | None:
    """Return the world of *log*, ``None`` if no service has run on it yet.

    The first event of the stream says it, for good, and is the only one that is read.

    Raises:
        DamagedEvent: That one is damaged.
        LogUnavailable: It cannot be read now.
    """
    for recorded in await log.read("service", NO_STREAM, 1):
        if isinstance(recorded.event, WorldChosen):
            return recorded.event.world
    return None
