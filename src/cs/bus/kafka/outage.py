"""Waiting out an outage of Kafka: logged at once and then now and then, tried every second."""

import asyncio
import time
from collections.abc import Callable

from structlog import get_logger

from cs.bus.errors import BusRefused, BusUnavailable
from cs.bus.kafka.availability import check_available
from cs.bus.kafka.settings import KafkaSettings
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: Between two tries.
RETRY_S = 1.0
#: The same reason is logged once in this time.
LOG_EVERY_S = 10.0


class Outage:
    """Remembers whether Kafka is away, and logs when that begins, lasts and ends.

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
        self._throttle = LogThrottle(LOG_EVERY_S, monotonic=monotonic)
        self.why: str | None = None

    def report(self, why: BaseException) -> None:
        """Remember and log that Kafka is away, and *why*."""
        now, reason = self._monotonic(), str(why)
        if self.why is None:
            self._since = now
            self._throttle.forget()
        self.why = reason
        if self._throttle.allow(reason) is not None:
            log.warning("kafka_away", why=reason, for_s=round(now - self._since), **self._about)

    def end(self) -> None:
        """Log that Kafka is back, if it was away."""
        if self.why is not None:
            log.info(
                "kafka_back", after_s=round(self._monotonic() - self._since), **self._about
            )
        self.why = None


async def wait_until_available(settings: KafkaSettings, outage: Outage) -> None:
    """Return once Kafka has let us in, however long that takes; *outage* logs the wait.

    Raises:
        BusRefused: It turned us away.
        BadKafkaSettings: A file of certificates or keys cannot be used.
    """
    while True:
        try:
            await check_available(settings)
        except BusRefused:
            raise
        except BusUnavailable as error:
            outage.report(error)
            await asyncio.sleep(RETRY_S)
        else:
            outage.end()
            return
