"""The bus on Kafka: at least once, in order for each key, any number of processes.

No transactions: a record may come twice, and the second time is quiet.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from types import TracebackType
from typing import Self

import msgspec

from cs.bus.kafka.away import Away, reached
from cs.bus.kafka.log import tell_in_our_log
from cs.bus.kafka.producer import Publisher
from cs.bus.kafka.reach import reach
from cs.bus.kafka.settings import BadKafkaSettings, KafkaSettings
from cs.bus.kafka.subscription import KafkaSubscription, SubscriptionMeasures
from cs.bus.port import NO_HEADERS, BusUnavailable

#: Who asks how a process is does not wait for long.
ANSWER_S = 2.0


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
        self._subscriptions.append(subscription)
        try:
            async with subscription.opened(drain_s):
                yield subscription
        finally:
            self._subscriptions.remove(subscription)

    async def reached(self) -> None:
        """Return once Kafka has let us in, however long that takes, and tell of the wait.

        Subscriptions do so themselves; this is for who only publishes.

        Raises:
            BusRefused: It turned us away.
        """
        await reached(self._settings, Away())

    async def measured(self) -> BusMeasures:
        """Return figures of every subscription of this process."""
        why = await self._why_away()
        subscriptions = tuple(
            [await each.measured(ask=why is None) for each in self._subscriptions]
        )
        if why is None and any(each.lag is None for each in subscriptions):
            waits = [each.away.why for each in self._subscriptions if each.away.why]
            why = next(iter(waits), "Kafka has not said yet what is left to read")
        return BusMeasures(why is None, why, subscriptions)

    async def _why_away(self) -> str | None:
        try:
            await reach(self._settings, within_s=ANSWER_S)
        except (BusUnavailable, BadKafkaSettings) as error:
            return str(error)
        return None
