"""``/readyz`` and ``/metrics``: whether a role can do its work now, and its figures.

Most figures are counted as things happen.  The page adds those that have to be asked for:
whether the role is ready and why, and how far each follower of the log is.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from prometheus_client import Counter
from structlog import get_logger

from cs.domain.messages import STANDS_STILL
from cs.domain.source_cost import MICROS
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.port import DamagedEvent, EventLog, LogUnavailable, SealedEvent
from cs.keystore.port import KeyStore, KeysUnavailable
from cs.metrics.metrics import Metrics
from cs.paid_calls.budgets import NO_TOTAL, Budgets
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.forecast import read_forecast
from cs.pipeline.misconfiguration import Misconfiguration
from cs.postgres.errors import DatabaseUnavailable
from cs.projections.following import Follower
from cs.runtime.clock import Clock
from cs.runtime.coordination import retrieve_exception
from cs.runtime.log_throttle import LogThrottle

if TYPE_CHECKING:  # each role starts with no more than it needs
    from cs.pipeline.outcomes import OutcomeRecorder
    from cs.postgres.clock import DatabaseTime
    from cs.postgres.lease import Leader

log = get_logger()

#: Events the views may be behind before a node says it is not ready.
LAG = 10_000
#: A name that no data key has, so the store is asked and no key is kept open.
_NO_KEY = "readyz"
_AWAY = (TimeoutError, LogUnavailable, DatabaseUnavailable, CallsUnavailable, OSError)
#: Time limit of all measurements for ``/metrics``: Prometheus waits 10 s by default.
WITHIN_S = 5.0
#: How often the same part that cannot be measured is logged again.
LOG_EVERY_S = 600.0


@dataclass
class Readiness:
    """Checks each of the parts of a role that are given.

    Attributes:
        events: The event log, of a role that reads it.
        check_writes: Raises `LogUnavailable` while the log can be read and not written.
        clock: Dates the events.
        time: The database's time, which all roles of a cluster use.
        views: Not ready if they are too far behind.
        leader: The lease of a role that has one leader.
        bus: Returns the figures of the bus, with ``reachable``.
        misconfiguration: Settings that do not work.
        set_aside: Damaged streams.
        outcomes: Counts forged outcomes.
        insecure: Hosts whose identity is not checked, by setting.
        budgets: The account of paid services, of a role that asks them.
        metrics: The figures of this process.
    """

    events: EventLog | None = None
    keys: KeyStore | None = None
    check_writes: Callable[[], Awaitable[None]] | None = None
    clock: Clock | None = None
    time: "DatabaseTime | None" = None
    views: Follower | None = None
    leader: "Leader | None" = None
    bus: Callable[[], Awaitable[msgspec.Struct]] | None = None
    misconfiguration: Misconfiguration = field(default_factory=Misconfiguration)
    set_aside: DamagedStreams | None = None
    outcomes: "OutcomeRecorder | None" = None
    insecure: Mapping[str, Sequence[str]] = field(default_factory=dict)
    budgets: Budgets | None = None
    metrics: Metrics = field(default_factory=Metrics)
    _from_future: bool = False
    _throttle: LogThrottle = field(default_factory=lambda: LogThrottle(LOG_EVERY_S))

    async def check(self) -> tuple[bool, dict[str, Any]]:
        insecure = {"insecure": self.insecure} if self.insecure else {}
        body: dict[str, Any] = {"ready": True} | insecure
        if self.events is not None:
            await self._check_log(self.events, body)
        if self.keys is not None:
            await self._check_keys(self.keys, body)
        if self.time is not None:
            body["clock_off_s"] = round(self.time.skew_s, 3)
            body["ready"] &= self.time.ready
        if self.leader is not None:
            body["leads"] = self.leader.epoch is not None
            if self.leader.held is not None:
                body["ready"], body["held"] = False, self.leader.held
        # Neither of the next two is a reason not to work.
        if self.set_aside is not None and (damaged := self.set_aside.why) is not None:
            body["set_aside"] = damaged
        if self.outcomes is not None and (forged := self.outcomes.forged):
            body["outcomes_forged"] = forged
        if self.bus is not None:
            body["bus"] = msgspec.to_builtins(await self.bus())
            body["ready"] &= body["bus"]["reachable"]
        if self.misconfiguration.reasons:
            body["misconfigured"] = self.misconfiguration.reasons
        body["ready"] &= not self.misconfiguration.blocks
        return body["ready"], body

    async def _check_log(self, events: EventLog, body: dict[str, Any]) -> None:
        try:
            body["head"] = await events.head()
            if self.check_writes is not None:
                await self.check_writes()
        except LogUnavailable as error:
            body["ready"], body["log"] = False, str(error)
            return
        body["log"] = "ok"
        await self._check_newest(events, body)
        if self.views is not None:
            body["views_behind"] = max(0, body["head"] - self.views.position)
            body["ready"] &= body["views_behind"] <= LAG
            if (held := self.views.gate.why) is not None:
                body["ready"], body["held"] = False, held

    async def _check_newest(self, events: EventLog, body: dict[str, Any]) -> None:
        """Show how far the newest event is ahead of the clock: no reason not to work."""
        if self.clock is None or not body["head"]:
            return
        try:
            (newest,) = await events.stored(body["head"] - 1, 1)
            ahead = _at(newest) - self.clock.wall()
        except (LogUnavailable, DamagedEvent, msgspec.MsgspecError):
            return  # shown elsewhere
        before, self._from_future = self._from_future, ahead > STANDS_STILL
        if self._from_future:
            body["events_ahead_s"] = round(ahead.total_seconds())
            if not before:
                log.warning("events_ahead_of_clock", seconds=body["events_ahead_s"])

    async def _check_keys(self, keys: KeyStore, body: dict[str, Any]) -> None:
        try:
            await keys.find([_NO_KEY])
            body["keys"] = "ok"
            if lost := keys.lost.keys:  # no reason not to work
                body["keys_lost"] = lost
        except KeysUnavailable as error:
            body["ready"], body["keys"] = False, str(error)

    async def page(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics as they are now, and their media type, by the header *accept*."""
        self.metrics.not_measured.clear()
        parts = {
            **self.metrics.measurements,
            "health": self._measure_health,
            "spending": self._measure_spending,
        }
        until = asyncio.get_running_loop().time() + WITHIN_S
        async with asyncio.TaskGroup() as group:
            running = {
                part: group.create_task(self._measure(part, measure, until))
                for part, measure in parts.items()
            }
            if "cluster" in running:  # it knows how far followers in other processes are
                await running["cluster"]
            await self._measure("followers", self._measure_followers, until)
        return self.metrics.page(accept)

    async def _measure(
        self, part: str, measure: Callable[[], Awaitable[None]], until: float
    ) -> None:
        """Await *measure* until the time *until* of the loop, and note *part* if it fails."""
        measuring = asyncio.ensure_future(measure())
        measuring.add_done_callback(retrieve_exception)  # it may fail after all have gone on
        try:
            async with asyncio.timeout_at(until):
                await asyncio.shield(measuring)  # a connection takes 5 s to give a query up
        except Exception as error:  # the other parts are shown  # noqa: BLE001
            self.metrics.not_measured.of(part).set(1)
            if part == "health":
                self.metrics.ready.of().set(0)
            if not isinstance(error, _AWAY) and self._throttle.allow(part) is not None:
                log.warning("not_measured", part=part, why=repr(error))
        finally:
            measuring.cancel()

    async def _measure_health(self) -> None:
        metrics = self.metrics
        ready, body = await self.check()
        metrics.ready.of().set(ready)
        metrics.misconfigured.clear()
        for name in body.get("misconfigured", ()):
            metrics.misconfigured.of(name).set(1)
        metrics.streams_set_aside.of().set("set_aside" in body)
        if "clock_off_s" in body:
            metrics.clock_off_seconds.of().set(body["clock_off_s"])
        if "head" in body:
            metrics.log_position.of().set(body["head"])
        metrics.data_keys_lost.of().set(sum(body.get("keys_lost", {}).values()))
        _count(metrics.outcomes_forged.of(), body.get("outcomes_forged", 0))
        if "bus" in body:
            self._show_bus(body["bus"])

    def _show_bus(self, bus: Mapping[str, Any]) -> None:
        metrics = self.metrics
        metrics.bus_reachable.of().set(bus["reachable"])
        metrics.bus_waiting.clear()
        for each in bus["subscriptions"]:
            of = each["topic"], each["group"]
            metrics.bus_partitions.of(*of).set(each["partitions"])
            metrics.bus_paused.of(*of).set(each["paused"])
            metrics.bus_in_flight.of(*of).set(each["in_flight"])
            metrics.bus_idle_seconds.of(*of).set(each["idle_s"])
            _count(metrics.consumers_rebuilt.of(*of), each["rebuilt"])
            if each["lag"] is not None:
                metrics.bus_waiting.of(*of).set(each["lag"])

    async def _measure_followers(self) -> None:
        metrics = self.metrics
        metrics.follower_lag_events.clear()
        metrics.follower_lag_seconds.clear()
        positions = metrics.follower_position.read()
        if self.events is None or self.clock is None:
            return
        head = await self.events.head()
        for (follower,), position in positions.items():
            done = int(position)
            metrics.follower_lag_events.of(follower).set(max(0, head - done))
            rows = await self.events.stored(done, 1) if done < head else ()
            age_s = (self.clock.now() - _at(rows[0])).total_seconds() if rows else 0.0
            metrics.follower_lag_seconds.of(follower).set(max(0.0, age_s))

    async def _measure_spending(self) -> None:
        """Show what each paid service costs, and what is left of the caps of all together."""
        if self.budgets is None:
            return
        for each in await self.budgets.spending():
            self.metrics.spent.of(each.service, "day").set(each.micros_today / MICROS)
            self.metrics.spent.of(each.service, "month").set(each.micros_this_month / MICROS)
        if self.budgets.caps == NO_TOTAL:
            return
        found = await read_forecast(self.budgets)
        for period, cap, spent in (
            ("day", self.budgets.caps.micros_per_day, found.usd_today if found else 0.0),
            ("month", self.budgets.caps.micros_per_month, found.usd_this_month if found else 0),
        ):
            if cap is not None:
                self.metrics.spending_total_cap.of(period).set(cap / MICROS)
                self.metrics.spending_total_left.of(period).set(max(cap / MICROS - spent, 0.0))


def _count(counter: Counter, value: int) -> None:
    """Have *counter* show *value*, which is counted elsewhere."""
    counter.reset()
    counter.inc(value)


class _EventTime(msgspec.Struct):
    at: datetime


def _at(stored: SealedEvent) -> datetime:
    return msgspec.json.decode(stored.state, type=_EventTime).at
