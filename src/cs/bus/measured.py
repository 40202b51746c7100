"""A bus whose messages are counted by topic, and how long it took to hand them over."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from time import perf_counter

from cs.bus.port import NO_HEADERS, Bus, BusUnavailable, Subscription
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, STAGE_TOPICS
from cs.metrics.metrics import Metrics


class MeasuredBus:
    """`cs.bus.port.Bus` before *bus*."""

    def __init__(self, bus: Bus, metrics: Metrics) -> None:
        self._bus = bus
        self._metrics = metrics
        for each in (OUTCOMES, *STAGE_TOPICS.values()):
            metrics.dead_letters.of(each)  # 0 is shown, so that the first one is a rise

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        began = perf_counter()
        try:
            await self._bus.publish(topic, key=key, value=value, headers=headers)
        except BusUnavailable:
            self._metrics.published.of(topic, "refused").inc()
            raise
        self._metrics.published.of(topic, "taken").inc()
        self._metrics.publish_seconds.of(topic).observe(perf_counter() - began)
        if topic == DEAD_LETTERS:
            self._metrics.dead_letters.of(headers.get("topic", "unknown")).inc()

    def subscribe(
        self, topic: str, *, group: str, drain_s: float = 0.0
    ) -> AbstractAsyncContextManager[Subscription]:
        return self._bus.subscribe(topic, group=group, drain_s=drain_s)
