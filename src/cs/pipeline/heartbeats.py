"""Signs of life: what stages say of work they have in hand.  Never part of the log.

Whoever records outcomes notes the signs, whoever drives lookups asks for them, and the two
may be different processes.  So the driver, which knows from the log what was issued when,
asks only for work that seems silent to it, and the answer is a duration: no two clocks are
compared.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from cs.domain.stages.work import StageName

#: No sign of life for this long: the work is issued again.
SILENCE_S = 20.0


class Signs(Protocol):
    """Shared by every recorder of outcomes and every driver of one service.

    Neither method raises: a sign that cannot be kept or read is as good as lost, and then
    work is done once more.
    """

    async def heard(self, lookup: str, stage: StageName, item: str, attempt: int) -> None:
        """Note a sign of life of *attempt*, now."""

    async def silent_for(
        self, lookup: str, stage: StageName, item: str, attempt: int
    ) -> float | None:
        """Return the seconds since *attempt* was last heard of.

        ``None`` if it never was, or so long ago that it is forgotten: `SILENCE_S` or more.
        """


class MemorySigns:
    """Signs of life within one process.

    Args:
        monotonic: Seconds of real time.
        kept_s: How long a sign is remembered at least; bounds what is.
    """

    def __init__(self, monotonic: Callable[[], float], *, kept_s: float = SILENCE_S) -> None:
        self._monotonic = monotonic
        self._kept_s = kept_s
        self._heard: OrderedDict[tuple[str, StageName, str, int], float] = OrderedDict()

    async def heard(self, lookup: str, stage: StageName, item: str, attempt: int) -> None:
        now = self._monotonic()
        work = (lookup, stage, item, attempt)
        self._heard[work] = now
        self._heard.move_to_end(work)
        while now - next(iter(self._heard.values())) > self._kept_s:
            self._heard.popitem(last=False)

    async def silent_for(
        self, lookup: str, stage: StageName, item: str, attempt: int
    ) -> float | None:
        heard_at = self._heard.get((lookup, stage, item, attempt))
        return None if heard_at is None else self._monotonic() - heard_at
