"""Whether a role can do its work now, and what that rests on."""

from typing import Any, Protocol

import msgspec

from cs.eventlog.damage import SetAside
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import EventLog
from cs.keystore.errors import KeysUnavailable
from cs.keystore.port import KeyStore
from cs.pipeline.misconfiguration import Misconfiguration
from cs.postgres.clock import DatabaseTime
from cs.postgres.lease import Leader
from cs.projections.follower import Follower

#: Events the views may be behind before a node says it is not ready.
LAG = 10_000
#: A name that no data key has, so that none is kept open of it and the store is asked.
_NO_KEY = "readyz"


class Ready(Protocol):
    async def check(self) -> tuple[bool, dict[str, object]]:
        """Return whether calls can be answered, and what that rests on."""


class MeasuredBus(Protocol):
    """A bus that knows its figures, whether it is ``reachable`` among them."""

    async def measure(self) -> msgspec.Struct: ...


class RefusesForged(Protocol):
    """A recorder of outcomes that counts those it refused: nobody was given that work."""

    @property
    def forged(self) -> int: ...


class Readiness:
    """Asks each of the parts that a role has."""

    def __init__(
        self,
        events: EventLog | None = None,
        keys: KeyStore | None = None,
        *,
        time: DatabaseTime,
        views: Follower | None = None,
        leader: Leader | None = None,
        bus: MeasuredBus | None = None,
        misconfiguration: Misconfiguration | None = None,
        set_aside: SetAside | None = None,
        outcomes: RefusesForged | None = None,
    ) -> None:
        self._outcomes = outcomes
        self._set_aside = set_aside
        self._events = events
        self._keys = keys
        self._time = time
        self._views = views
        self._leader = leader
        self._bus = bus
        self._misconfiguration = misconfiguration or Misconfiguration()

    async def check(self) -> tuple[bool, dict[str, object]]:
        told: dict[str, Any] = {"ready": True}
        if self._events is not None:
            await self._check_log(self._events, told)
        if self._keys is not None:
            await self._check_keys(self._keys, told)
        told["clock_off_s"] = round(self._time.skew_s, 3)
        told["ready"] &= self._time.ready
        if self._leader is not None:
            told["leads"] = self._leader.epoch is not None
            if self._leader.held is not None:
                told["ready"], told["held"] = False, self._leader.held
        if self._set_aside is not None and (damaged := self._set_aside.why) is not None:
            told["set_aside"] = damaged  # everything else can be done: it stays ready
        if self._outcomes is not None and (forged := self._outcomes.forged):
            told["outcomes_forged"] = forged  # refused, so nothing wrong is stored
        if self._bus is not None:
            measures = msgspec.to_builtins(await self._bus.measure())
            told["bus"] = measures
            told["ready"] &= measures["reachable"]
        if self._misconfiguration.reasons:
            told["misconfigured"] = self._misconfiguration.reasons
        told["ready"] &= not self._misconfiguration.blocks
        return told["ready"], told

    async def _check_log(self, events: EventLog, told: dict[str, Any]) -> None:
        try:
            told["head"] = await events.head()
        except LogUnavailable as error:
            told["ready"], told["log"] = False, str(error)
            return
        told["log"] = "ok"
        if self._views is not None:
            told["views_behind"] = max(0, told["head"] - self._views.position)
            told["ready"] &= told["views_behind"] <= LAG
            if (held := self._views.gate.why) is not None:
                told["ready"], told["held"] = False, held

    async def _check_keys(self, keys: KeyStore, told: dict[str, Any]) -> None:
        try:
            await keys.find([_NO_KEY])
            told["keys"] = "ok"
            if lost := keys.lost.keys:  # told, and no reason not to work
                told["keys_lost"] = lost
        except KeysUnavailable as error:
            told["ready"], told["keys"] = False, str(error)
