"""The bus on Kafka: at least once, in order for each key, any number of processes.

No transactions: a record may come twice, and the second time is quiet.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Self

import msgspec
from structlog import get_logger

from cs.bus.kafka.availability import RETRY_S, Outage, check_available
from cs.bus.kafka.producer import Publisher
from cs.bus.kafka.settings import BadKafkaSettings, KafkaSettings
from cs.bus.kafka.subscription import KafkaSubscription, SubscriptionMeasures
from cs.bus.port import NO_HEADERS, BusRefused, BusUnavailable
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

#: Who asks how a process is does not wait for long.
ANSWER_S = 2.0
#: The same trouble with the same broker is logged once in this time.
LOG_EVERY_S = 10.0


class BusMeasures(msgspec.Struct, frozen=True):
    reachable: bool
    why: str | None  # it is not
    subscriptions: tuple[SubscriptionMeasures, ...]


class KafkaBus:
    """Implements `cs.bus.port.Bus` within ``async with``.

    Topics and groups are called here without the operator's prefix.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._publisher = Publisher(settings)
        self._subscriptions: list[KafkaSubscription] = []

    async def __aenter__(self) -> Self:
        route_client_log()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._publisher.close()

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        name = self._settings.on_broker(topic)
        await self._publisher.publish(name, key=key, value=value, headers=headers)

    @asynccontextmanager
    async def subscribe(
        self, topic: str, *, group: str, drain_s: float = 0.0
    ) -> AsyncIterator[KafkaSubscription]:
        subscription = KafkaSubscription(self._settings, topic, group)
        self._subscriptions.append(subscription)
        try:
            async with subscription.opened(drain_s):
                yield subscription
        finally:
            self._subscriptions.remove(subscription)

    async def wait_until_available(self) -> None:
        """Return once Kafka has let us in, however long that takes, and log the wait.

        Subscriptions do so themselves; this is for who only publishes.

        Raises:
            BusRefused: It turned us away.
        """
        outage = Outage()
        while True:
            try:
                await check_available(self._settings)
            except BusRefused:
                raise
            except BusUnavailable as error:
                outage.report(error)
                await asyncio.sleep(RETRY_S)
            else:
                outage.end()
                return

    async def measure(self) -> BusMeasures:
        """Return figures of every subscription of this process."""
        why = await self._why_unavailable()
        subscriptions = tuple(
            [await each.measure(ask=why is None) for each in self._subscriptions]
        )
        if why is None and any(each.lag is None for each in subscriptions):
            waits = [each.outage.why for each in self._subscriptions if each.outage.why]
            why = next(iter(waits), "Kafka has not said yet what is left to read")
        return BusMeasures(why is None, why, subscriptions)

    async def _why_unavailable(self) -> str | None:
        try:
            await check_available(self._settings, within_s=ANSWER_S)
        except (BusUnavailable, BadKafkaSettings) as error:
            return str(error)
        return None


class KafkaLog(logging.Handler):
    """Logs warnings and worse.

    A client that cannot reach a broker says so twice a second.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._throttle = LogThrottle(LOG_EVERY_S)

    def emit(self, record: logging.LogRecord) -> None:
        # The first arguments name what it is about: a broker's number, its host and port.
        args = record.args[:2] if isinstance(record.args, tuple) else ()
        about = " ".join(str(each) for each in args if not isinstance(each, BaseException))
        more = self._throttle.allow(f"{record.msg} {about}")
        if more is None:
            return
        error = record.exc_info[1] if record.exc_info else None
        log.log(
            record.levelno,
            "kafka_client",
            said=record.getMessage(),
            exc_info=error,
            **more,
        )


def route_client_log() -> None:
    """Send what aiokafka says to our log and nowhere else."""
    client_log = logging.getLogger("aiokafka")
    if not any(isinstance(handler, KafkaLog) for handler in client_log.handlers):
        client_log.handlers, client_log.propagate = [KafkaLog()], False
