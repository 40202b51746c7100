"""The one clock: everything that asks for the time or waits for one is given it."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the wall-clock time, UTC."""

    def monotonic(self) -> float:
        """Return seconds that never step back."""

    async def sleep_until(self, when: datetime) -> None:
        """Return once `now` is at or past *when*."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep_until(self, when: datetime) -> None:
        while (left := (when - self.now()).total_seconds()) > 0:  # noqa: ASYNC110  the wall clock may step
            await asyncio.sleep(left)


class HandClock:
    """A clock that stands still until it is moved by hand, for tests."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self._monotonic = 0.0
        self._moved = asyncio.Event()

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def set(self, now: datetime) -> None:
        """Move to *now*; backwards only the wall clock steps."""
        self._monotonic += max(0.0, (now - self._now).total_seconds())
        self._now = now
        self._moved.set()
        self._moved = asyncio.Event()

    async def sleep_until(self, when: datetime) -> None:
        while self._now < when:
            await self._moved.wait()
