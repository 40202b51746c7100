"""Waiting for a Kafka that is away: told at once and then now and then, asked every second."""

import asyncio
import math
import time
from collections.abc import Callable

from structlog import get_logger

from cs.bus.kafka.reach import BusRefused, reach
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.port import BusUnavailable

log = get_logger()

#: Between two tries.
AGAIN_S = 1.0
#: The same reason is told once in this time.
TELL_EVERY_S = 10.0


class Away:
    """One wait after the other.

    Args:
        about: Fields of the log lines: who waits.

    Attributes:
        why: What is waited for; ``None`` when nothing is.
    """

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, /, **about: str
    ) -> None:
        self._monotonic = monotonic
        self._about = about
        self._since = 0.0
        self._told_at: dict[str, float] = {}
        self.why: str | None = None

    def note(self, why: BaseException) -> None:
        """Keep and tell that Kafka is away, and *why*."""
        now, reason = self._monotonic(), str(why)
        if self.why is None:
            self._since = now
            self._told_at.clear()
        self.why = reason
        if now - self._told_at.get(reason, -math.inf) >= TELL_EVERY_S:
            self._told_at[reason] = now
            log.warning("kafka_away", why=reason, for_s=round(now - self._since), **self._about)

    def over(self) -> None:
        """Tell that Kafka is back, if it was away."""
        if self.why is not None:
            log.info(
                "kafka_back", after_s=round(self._monotonic() - self._since), **self._about
            )
        self.why = None


async def reached(settings: KafkaSettings, away: Away) -> None:
    """Return once Kafka has let us in, however long that takes; *away* tells of the wait.

    Raises:
        BusRefused: It turned us away.
        BadKafkaSettings: A file of certificates or keys cannot be used.
    """
    while True:
        try:
            await reach(settings)
        except BusRefused:
            raise
        except BusUnavailable as error:
            away.note(error)
            await asyncio.sleep(AGAIN_S)
        else:
            away.over()
            return
