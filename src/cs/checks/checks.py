"""Counting the status and usage checks of each key in the last minute (contract L3).

A check is counted before anything else is read, so that one beyond the limit costs no more
work however many come.
"""

from datetime import datetime
from typing import Protocol

import msgspec

from cs.domain.messages import STANDS_STILL
from cs.domain.rate_limits import MINUTE, RateWindow, window
from cs.runtime.lru import LruDict

#: Contract text 8.
CHECKS_PER_MINUTE = 120
#: Keys that are remembered by a process; one forgotten starts a fresh minute, or is asked for.
KEYS = 20_000


class Check(msgspec.Struct, frozen=True):
    """One status or usage check, counted or refused.

    Attributes:
        window: After it.
        key_version: Of the key's stream when the check was counted; ``None`` if not known.
    """

    at: datetime
    counted: bool
    window: RateWindow
    key_version: int | None = None


class Checks(Protocol):
    """120 GETs a minute and key."""

    async def count(self, key_id: str, at: datetime) -> Check:
        """Count a check, unless 120 were counted in the 60 s before it.

        Args:
            key_id: The key that makes it.
            at: By the caller's clock; where nodes share a clock that one counts.

        Raises:
            LogUnavailable: Whether it was counted is not known.
        """

    async def uncount(self, key_id: str, at: datetime) -> None:
        """Uncount the check of *at* (`Check.at`): it was not answered."""


class MemoryChecks:
    """Checks counted in memory, for one process."""

    def __init__(self) -> None:
        self._times = LruDict[str, list[datetime]](KEYS)

    async def count(self, key_id: str, at: datetime) -> Check:
        before = self._times.get(key_id, [])
        times = [each for each in before if at - MINUTE < each <= at + STANDS_STILL]
        counted = len(times) < CHECKS_PER_MINUTE
        if counted:
            times.append(at)
        self._times[key_id] = times
        return Check(at, counted, window(times, at, limit=CHECKS_PER_MINUTE, span=MINUTE))

    async def uncount(self, key_id: str, at: datetime) -> None:
        times = self._times.get(key_id, [])
        if at in times:
            times.remove(at)
