"""What is measured when ``/metrics`` is asked for, and the page itself.

Most figures are counted as things happen.  What is here is asked for: whether the role is
ready and what that rests on, as ``/readyz`` has it, and how far each follower of the log is.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec

from cs.admin.readiness import ReadinessCheck
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import EventLog, SealedEvent
from cs.metrics.exposition import Exposition
from cs.metrics.metrics import Metrics
from cs.runtime.clock import Clock

#: All is measured by then, or shown as it is: Prometheus waits 10 s if nobody says otherwise.
WITHIN_S = 5.0


class _EventTime(msgspec.Struct):
    at: datetime


class Measures:
    """Measures a role, or all of them in one process.

    Args:
        metrics: Of this process.
        health: What ``/readyz`` asks.
        log: The event log, if the role reads it.
        clock: What events are dated by; of a role that reads the log.
    """

    def __init__(
        self,
        metrics: Metrics,
        health: ReadinessCheck,
        *,
        log: EventLog | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._metrics = metrics
        self._health = health
        self._log = log
        self._clock = clock
        self._exposition = Exposition(metrics)

    async def page(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics as they are now, and their media type, by the header *accept*."""
        self._metrics.not_measured.clear()
        with self._noted("health"):
            async with asyncio.timeout(WITHIN_S):
                await self._measure_health()
        with self._noted("followers"):
            async with asyncio.timeout(WITHIN_S):
                await self._measure_followers()
        return self._exposition.page(accept)

    @contextmanager
    def _noted(self, part: str) -> Iterator[None]:
        try:
            yield
        except (TimeoutError, LogUnavailable):
            self._metrics.not_measured.of(part).set(1)

    async def _measure_health(self) -> None:
        metrics = self._metrics
        ready, body = await self._health.check()
        metrics.ready.of().set(ready)
        metrics.misconfigured.clear()
        for name in _mapping(body.get("misconfigured")):
            metrics.misconfigured.of(name).set(1)
        metrics.streams_set_aside.of().set("set_aside" in body)
        for name, family in (
            ("clock_off_s", metrics.clock_off_seconds),
            ("head", metrics.log_position),
        ):
            if isinstance(value := body.get(name), int | float):
                family.of().set(value)
        metrics.data_keys_lost.of().set(sum(_mapping(body.get("keys_lost")).values()))
        if isinstance(forged := body.get("outcomes_forged", 0), int):
            metrics.outcomes_forged.of().value = forged
        if bus := _mapping(body.get("bus")):
            self._show_bus(bus)

    def _show_bus(self, bus: Mapping[str, Any]) -> None:
        metrics = self._metrics
        metrics.bus_reachable.of().set(bus["reachable"])
        subscriptions: Sequence[Mapping[str, Any]] = bus["subscriptions"]
        metrics.bus_waiting.clear()
        for each in subscriptions:
            of = each["topic"], each["group"]
            metrics.bus_partitions.of(*of).set(each["partitions"])
            metrics.bus_paused.of(*of).set(each["paused"])
            metrics.bus_in_flight.of(*of).set(each["in_flight"])
            metrics.bus_idle_seconds.of(*of).set(each["idle_s"])
            metrics.consumers_rebuilt.of(*of).value = each["rebuilt"]
            if each["lag"] is not None:
                metrics.bus_waiting.of(*of).set(each["lag"])

    async def _measure_followers(self) -> None:
        metrics = self._metrics
        metrics.follower_lag_events.clear()
        metrics.follower_lag_seconds.clear()
        positions = metrics.follower_position.read()
        if self._log is None or self._clock is None:
            return
        head = await self._log.head()
        for (follower,), position in positions.items():
            done = int(position.value)
            metrics.follower_lag_events.of(follower).set(max(0, head - done))
            rows = await self._log.stored(done, 1) if done < head else ()
            age_s = (self._clock.now() - _at(rows[0])).total_seconds() if rows else 0.0
            metrics.follower_lag_seconds.of(follower).set(max(0.0, age_s))


def _at(stored: SealedEvent) -> datetime:
    return msgspec.json.decode(stored.state, type=_EventTime).at


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
