"""When which lookup is to be looked at without anybody asking."""

import asyncio
import heapq
from datetime import datetime
from typing import Any

from cs.runtime.clock import Clock


class Timers:
    """In memory only: made anew from the log at a start; firing twice changes nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[datetime, str]] = []
        self._changed = asyncio.Event()

    def set(self, when: datetime, lookup: str) -> None:
        heapq.heappush(self._heap, (when, lookup))
        self._changed.set()

    def earliest(self) -> datetime | None:
        """Return when the first of them is due, whether or not it is waited for yet."""
        return self._heap[0][0] if self._heap else None

    def is_due(self) -> bool:
        earliest = self.earliest()
        return earliest is not None and earliest <= self._clock.now()

    def pop_due(self) -> list[tuple[datetime, str]]:
        """Return and forget those that are due now, the earliest first."""
        due = []
        while self.is_due():
            due.append(heapq.heappop(self._heap))
        return due

    async def next(self) -> tuple[datetime, str]:
        """Wait until the earliest timer is due; return and forget it."""
        while not self.is_due():
            self._changed.clear()
            waiting: list[asyncio.Future[Any]] = [asyncio.ensure_future(self._changed.wait())]
            if self._heap:
                until = self._clock.sleep_until(self._heap[0][0])
                waiting.append(asyncio.ensure_future(until))
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                await _stop(waiting)
        return heapq.heappop(self._heap)


async def _stop(waiting: list[asyncio.Future[Any]]) -> None:
    for each in waiting:
        each.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
