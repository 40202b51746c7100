"""Whether a service, or a role of one, can do its work now, and what that rests on."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec
from structlog import get_logger

from cs.domain.messages import STANDS_STILL
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.errors import DamagedEvent, LogUnavailable
from cs.eventlog.port import EventLog
from cs.keystore.errors import KeysUnavailable
from cs.keystore.port import KeyStore
from cs.pipeline.misconfiguration import Misconfiguration
from cs.projections.follower import Follower
from cs.runtime.clock import Clock

log = get_logger()

#: Events the views may be behind before a node says it is not ready.
LAG = 10_000
#: A name that no data key has, so that none is kept open of it and the store is asked.
_NO_KEY = "readyz"


class _EventTime(msgspec.Struct):
    at: datetime


_decode = msgspec.json.Decoder(_EventTime).decode


class ReadinessCheck(Protocol):
    async def check(self) -> tuple[bool, dict[str, object]]:
        """Return whether calls can be answered, and what that rests on."""


class BusFigures(Protocol):
    """A bus that knows its figures, whether it is ``reachable`` among them."""

    async def measure(self) -> msgspec.Struct: ...


class ForgeryCounter(Protocol):
    """A recorder of outcomes that counts those it refused: nobody was given that work."""

    @property
    def forged(self) -> int: ...


class ClockCheck(Protocol):
    """Compares the machine's clock with the database's."""

    @property
    def skew_s(self) -> float:
        """How far the machine's clock is ahead."""

    @property
    def ready(self) -> bool:
        """Whether that was found out lately, and is little enough to work by."""


class Leadership(Protocol):
    """Whether this process leads its role: a `cs.postgres.lease.Leader` knows."""

    @property
    def epoch(self) -> int | None:
        """The number of the lease it holds; ``None``: another process leads."""

    @property
    def held(self) -> str | None:
        """Why it cannot lead."""


class Readiness:
    """Asks each of the parts that there are.

    Args:
        clock: What events are dated by.
        time: Where all go by the database's time; one process goes by its machine's.
        parts: Says which parts of its role it leads, where that is shared out.
    """

    def __init__(
        self,
        events: EventLog | None = None,
        keys: KeyStore | None = None,
        *,
        clock: Clock | None = None,
        time: ClockCheck | None = None,
        views: Follower | None = None,
        leader: Leadership | None = None,
        bus: BusFigures | None = None,
        parts: Callable[[], Sequence[str]] = tuple,
        misconfiguration: Misconfiguration | None = None,
        set_aside: DamagedStreams | None = None,
        outcomes: ForgeryCounter | None = None,
    ) -> None:
        self._outcomes = outcomes
        self._set_aside = set_aside
        self._events = events
        self._keys = keys
        self._clock = clock
        self._from_future = False
        self._time = time
        self._views = views
        self._leader = leader
        self._parts = parts
        self._bus = bus
        self._misconfiguration = misconfiguration or Misconfiguration()

    async def check(self) -> tuple[bool, dict[str, object]]:  # noqa: C901 - one branch for each part
        body: dict[str, Any] = {"ready": True}
        if self._events is not None:
            await self._check_log(self._events, body)
        if self._keys is not None:
            await self._check_keys(self._keys, body)
        if self._time is not None:
            body["clock_off_s"] = round(self._time.skew_s, 3)
            body["ready"] &= self._time.ready
        if self._leader is not None:
            body["leads"] = self._leader.epoch is not None
            if parts := self._parts():
                body["parts"] = list(parts)
            if self._leader.held is not None:
                body["ready"], body["held"] = False, self._leader.held
        if self._set_aside is not None and (damaged := self._set_aside.why) is not None:
            body["set_aside"] = damaged  # everything else can be done: it stays ready
        if self._outcomes is not None and (forged := self._outcomes.forged):
            body["outcomes_forged"] = forged  # refused, so nothing wrong is stored
        if self._bus is not None:
            measures = msgspec.to_builtins(await self._bus.measure())
            body["bus"] = measures
            body["ready"] &= measures["reachable"]
        if self._misconfiguration.reasons:
            body["misconfigured"] = self._misconfiguration.reasons
        body["ready"] &= not self._misconfiguration.blocks
        return body["ready"], body

    async def _check_log(self, events: EventLog, body: dict[str, Any]) -> None:
        try:
            body["head"] = await events.head()
        except LogUnavailable as error:
            body["ready"], body["log"] = False, str(error)
            return
        body["log"] = "ok"
        await self._check_newest(events, body)
        if self._views is not None:
            body["views_behind"] = max(0, body["head"] - self._views.position)
            body["ready"] &= body["views_behind"] <= LAG
            if (held := self._views.gate.why) is not None:
                body["ready"], body["held"] = False, held

    async def _check_newest(self, events: EventLog, body: dict[str, Any]) -> None:
        """Say by how much the newest event is ahead of the clock: no reason not to work."""
        if self._clock is None or not body["head"]:
            return
        try:
            (newest,) = await events.stored(body["head"] - 1, 1)
            at = _decode(newest.state).at
        except (LogUnavailable, DamagedEvent, msgspec.MsgspecError):
            return  # what is wrong with it is said elsewhere
        ahead = at - self._clock.wall()
        before, self._from_future = self._from_future, ahead > STANDS_STILL
        if self._from_future:
            body["events_ahead_s"] = round(ahead.total_seconds())
            if not before:
                log.warning("events_ahead_of_clock", seconds=body["events_ahead_s"])

    async def _check_keys(self, keys: KeyStore, body: dict[str, Any]) -> None:
        try:
            await keys.find([_NO_KEY])
            body["keys"] = "ok"
            if lost := keys.lost.keys:  # shown, and no reason not to work
                body["keys_lost"] = lost
        except KeysUnavailable as error:
            body["ready"], body["keys"] = False, str(error)
