"""The one clock: everything that reads the time or waits gets it as an argument."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the wall-clock time, UTC."""

    def wall(self) -> datetime:
        """Return what the machine's clock says, UTC, also where `now` walks a step back."""

    def monotonic(self) -> float:
        """Return seconds that never step back."""

    async def sleep_until(self, when: datetime) -> None:
        """Return once `now` is at or past *when*."""


@asynccontextmanager
async def until(when: datetime, clock: Clock) -> AsyncIterator[None]:
    """Give what is inside time until *clock* is at *when*, however it gets there.

    Raises:
        TimeoutError: It is, and what was inside was cancelled.
    """
    async with asyncio.timeout(None) as limit:
        ringing = asyncio.create_task(_ring(when, clock, limit))
        try:
            yield
        finally:
            ringing.cancel()


async def _ring(when: datetime, clock: Clock, limit: asyncio.Timeout) -> None:
    await clock.sleep_until(when)
    limit.reschedule(0.0)  # which is past


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SystemClock:
    """The machine's clock, whose steps back are walked.

    When the machine's clock is set back, this one goes on at half its speed until the
    other has caught up.  So a window or a hold may last twice as long, but nothing stands
    still for as long as the step was (contract L16).

    Args:
        wall: The machine's time, UTC; it may step.
        monotonic: Seconds that never step back.
    """

    def __init__(
        self,
        wall: Callable[[], datetime] = _utc_now,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._last = wall()
        self._last_read = monotonic()

    def now(self) -> datetime:
        read = self._monotonic()
        walked = self._last + timedelta(seconds=(read - self._last_read) / 2)
        self._last, self._last_read = max(self._wall(), walked), read
        return self._last

    def wall(self) -> datetime:
        return self._wall()

    def monotonic(self) -> float:
        return self._monotonic()

    async def sleep_until(self, when: datetime) -> None:
        while (left := (when - self.now()).total_seconds()) > 0:  # noqa: ASYNC110  the wall clock may step
            await asyncio.sleep(left)
