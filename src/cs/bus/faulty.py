"""A bus that loses, doubles and delays some records, on purpose.

``CS_BUS_FAULTS="drop=0.01,duplicate=0.01,late=0.01"`` has a role of a sandbox publish
through such a bus; each number is the share of records it happens to.  A record that is
late is overtaken by those after it, also of its own key.  A live service refuses to start
with the variable set.  Everywhere else `with_faults` returns the bus it is given.
"""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress

import msgspec

from cs.bus.errors import BadBusFaults, BusUnavailable
from cs.bus.port import NO_HEADERS, Bus, Subscription

VARIABLE = "CS_BUS_FAULTS"
#: A late record is published after at most this.
LATE_S = 2.0

_FORM = re.compile(r"(?P<fault>drop|duplicate|late)=(?P<share>0?\.[0-9]+|[01])")


class BusFaults(msgspec.Struct, frozen=True):
    """Shares of records, 0 to 1."""

    drop: float = 0.0
    duplicate: float = 0.0
    late: float = 0.0


_armed: BusFaults | None = None


def arm(text: str) -> None:
    """Make `with_faults` put the faults of *text* before every bus.

    Raises:
        BadBusFaults: Naming what is wrong and what is allowed.
    """
    global _armed  # noqa: PLW0603  one switch for the process, thrown once at its start
    _armed = parse(text)


def parse(text: str) -> BusFaults:
    """Return the faults that *text* names.

    >>> parse("drop=0.01,late=0.5")
    BusFaults(drop=0.01, duplicate=0.0, late=0.5)

    Raises:
        BadBusFaults: Naming what is wrong and what is allowed.
    """
    shares: dict[str, float] = {}
    for part in text.split(","):
        found = _FORM.fullmatch(part.strip())
        if found is None:
            raise BadBusFaults(f"{part.strip()!r} is not like drop=0.01, duplicate=1 or late=0")
        shares[found["fault"]] = float(found["share"])
    return BusFaults(**shares)


def with_faults(bus: Bus) -> Bus:
    """Return *bus*, behind the faults that are armed."""
    return bus if _armed is None else FaultyBus(bus, _armed)


class FaultyBus:
    """`cs.bus.port.Bus` before *bus*; ``injected`` counts faults."""

    def __init__(
        self,
        bus: Bus,
        faults: BusFaults,
        *,
        chance: random.Random | None = None,
        late_s: float = LATE_S,
    ) -> None:
        self._bus = bus
        self._faults = faults
        self._chance = chance or random.Random()  # noqa: S311  no secret
        self._late_s = late_s
        self._late: set[asyncio.Task[None]] = set()
        self.injected: Counter[str] = Counter()

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        async def publish() -> None:
            await self._bus.publish(topic, key=key, value=value, headers=headers)

        async def publish_late() -> None:
            await asyncio.sleep(self._chance.uniform(0, self._late_s))
            with suppress(BusUnavailable):  # then it is lost
                await publish()

        if self._happens("drop", self._faults.drop):
            return
        if self._happens("late", self._faults.late):
            task = asyncio.create_task(publish_late(), name="late-record")
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            return
        await publish()
        if self._happens("duplicate", self._faults.duplicate):
            await publish()

    def subscribe(
        self, topic: str, *, group: str, drain_s: float = 0.0
    ) -> AbstractAsyncContextManager[Subscription]:
        return self._bus.subscribe(topic, group=group, drain_s=drain_s)

    def _happens(self, fault: str, share: float) -> bool:
        happens = self._chance.random() < share
        self.injected[fault] += happens
        return happens
