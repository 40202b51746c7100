"""Checks counted in memory, for one process."""

from collections import deque
from datetime import datetime

from cs.checks.port import CHECKS_PER_MINUTE, KEYS, Check
from cs.domain.messages import present
from cs.domain.rate_limits import MINUTE, RateWindow
from cs.runtime.lru import LruDict


class MemoryChecks:
    """`cs.checks.port.Checks` in memory.

    The times of a key are kept in their order, and those that left the window dropped, so
    that a check does not look at the others.  A clock that steps back a little stands still
    here; after a larger step the window is empty.
    """

    def __init__(self) -> None:
        self._times = LruDict[str, deque[datetime]](KEYS)

    async def count(self, key_id: str, at: datetime) -> Check:
        times = self._times.get(key_id, deque())
        if times:
            at = present(at, times[-1])
            if times[-1] > at:
                times.clear()
        since = at - MINUTE
        while times and times[0] <= since:
            times.popleft()
        counted = len(times) < CHECKS_PER_MINUTE
        if counted:
            times.append(at)
            self._times[key_id] = times
        left = RateWindow(CHECKS_PER_MINUTE, CHECKS_PER_MINUTE - len(times), times[0] - since)
        return Check(at, counted, left)

    async def uncount(self, key_id: str, at: datetime) -> None:
        times = self._times.get(key_id, deque())
        if at in times:
            times.remove(at)
