"""Standing still at an event that a newer version wrote.

It is neither skipped nor guessed at: whoever reads on from it would decide, answer or show
something that is not so.  Until this process is upgraded it stands there, and says so.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from structlog import get_logger

from cs.eventlog.errors import NewerEvent
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

T = TypeVar("T")

#: Wait before it is tried again.  Only another log makes a difference, or one restored.
RETRY_S = 5.0
#: How often it is logged again.
LOG_EVERY_S = 60.0


class VersionGate:
    """Keeps one role from going on where it cannot read.

    Args:
        who: What of this process stands still, for the log line.
        retry_s: Wait before it is tried again.
    """

    def __init__(
        self,
        who: str,
        *,
        retry_s: float = RETRY_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._who = who
        self._retry_s = retry_s
        self._held: dict[object, NewerEvent] = {}
        self._throttle = LogThrottle(LOG_EVERY_S, monotonic=monotonic)

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
                await asyncio.sleep(self._retry_s)
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
