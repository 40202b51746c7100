"""Heartbeats: stages say of the work they do that it goes on.  Never part of the log.

The recorder of outcomes records heartbeats, the driver of lookups asks for them, and the
two may be different processes.  So the driver, which knows from the log what was issued
when, asks only about work that seems silent to it, and the answer is a duration: no two
clocks are compared.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from cs.domain.stages.work import StageName

#: No heartbeat for this long: the work is issued again.
SILENCE_S = 20.0


class Heartbeats(Protocol):
    """Shared by every recorder of outcomes and every driver of one service.

    Neither method raises: a heartbeat that cannot be stored or read counts as lost, and then
    work is done once more.
    """

    async def record(self, lookup: str, stage: StageName, item: str, attempt: int) -> None:
        """Record a heartbeat of *attempt*, now."""

    async def silent_for(
        self, lookup: str, stage: StageName, item: str, attempt: int
    ) -> float | None:
        """Return the seconds since the last heartbeat of *attempt*.

        ``None`` if there was none, or so long ago that it is forgotten: `SILENCE_S` or more.
        """


class MemoryHeartbeats:
    """Heartbeats within one process; *monotonic* returns seconds of real time."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._last: OrderedDict[tuple[str, StageName, str, int], float] = OrderedDict()

    async def record(self, lookup: str, stage: StageName, item: str, attempt: int) -> None:
        now = self._monotonic()
        work = (lookup, stage, item, attempt)
        self._last[work] = now
        self._last.move_to_end(work)
        while now - next(iter(self._last.values())) > SILENCE_S:
            self._last.popitem(last=False)

    async def silent_for(
        self, lookup: str, stage: StageName, item: str, attempt: int
    ) -> float | None:
        last_at = self._last.get((lookup, stage, item, attempt))
        return None if last_at is None else self._monotonic() - last_at
