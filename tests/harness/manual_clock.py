"""A clock that stands still until a test moves it."""

from datetime import datetime

from cs.runtime.coordination import Broadcast


class ManualClock:
    """Implements `cs.runtime.clock.Clock`."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._monotonic = 0.0
        self._moved = Broadcast()

    def now(self) -> datetime:
        return self._now

    def wall(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def set(self, now: datetime) -> None:
        """Move to *now*; backwards only the wall clock steps."""
        self._monotonic += max(0.0, (now - self._now).total_seconds())
        self._now = now
        self._moved.notify_all()

    async def sleep_until(self, when: datetime) -> None:
        while self._now < when:
            await self._moved.wait()
