"""The bus on Kafka: at least once, in order for each key, any number of processes.

No transactions: a record may come twice, and the second time is quiet.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

import msgspec

from cs.bus.kafka_lag import answers
from cs.bus.kafka_log import tell_in_our_log
from cs.bus.kafka_producer import Publisher
from cs.bus.kafka_settings import KafkaSettings
from cs.bus.kafka_subscription import KafkaSubscription, SubscriptionMeasures
from cs.bus.port import NO_HEADERS


class BusMeasures(msgspec.Struct, frozen=True):
    reachable: bool
    subscriptions: tuple[SubscriptionMeasures, ...]


class KafkaBus:
    """Implements `cs.bus.port.Bus` within ``async with``.

    Topics and groups are called here without the operator's prefix.
    """

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._publisher = Publisher(settings)
        self._subscriptions: list[KafkaSubscription] = []
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        tell_in_our_log()
        await self._opened.enter_async_context(self._publisher.opened())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._opened.__aexit__(kind, error, trace)

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
        async with subscription.opened(drain_s):
            self._subscriptions.append(subscription)
            try:
                yield subscription
            finally:
                self._subscriptions.remove(subscription)

    async def measured(self) -> BusMeasures:
        """Return figures of every subscription of this process."""
        subscriptions = tuple([await each.measured() for each in self._subscriptions])
        reachable = all(each.lag is not None for each in subscriptions)
        if not subscriptions:
            reachable = await answers(self._settings)
        return BusMeasures(reachable, subscriptions)
