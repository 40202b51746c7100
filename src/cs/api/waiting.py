"""Bounds on waiting: how long a part of a call may take, and how many calls of a key may wait.

All times are seconds of real time: neither a log that is away nor a caller's network goes by
the service's clock.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType

import msgspec

from cs.api.errors import TooManyWaiting
from cs.eventlog.errors import LogUnavailable

#: For the body of a request, once its head is read: 16 KiB at most.
BODY_S = 10.0
#: For a slot among the calls of the same key: 60 may wait before it.
WAIT_S = 10.0
#: For deciding on a search and storing it.
ADMIT_S = 5.0
#: For reading the answer to a stored search, beyond its hold; then admission answers.
ANSWER_S = 2.0
#: For a status or usage check, its wait for a slot included, and for looking up a key.
READ_S = 5.0
#: For uncounting a check after that.
UNCOUNT_S = 0.5
#: Calls of one key worked on at once.  A held call is not worked on.
AT_ONCE_PER_KEY = 4


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long each part of a call may take."""

    body_s: float = BODY_S
    wait_s: float = WAIT_S
    admit_s: float = ADMIT_S
    answer_s: float = ANSWER_S
    read_s: float = READ_S
    uncount_s: float = UNCOUNT_S


TIME_LIMITS = TimeLimits()


class within:  # noqa: N801  used like a function
    """Bound the time of the block; ``None``: its caller does.

    Raises:
        LogUnavailable: It took longer.
    """

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(seconds)

    async def __aenter__(self) -> None:
        await self._timeout.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._timeout.__aexit__(kind, error, trace)
            if isinstance(error, TimeoutError):
                raise error
        except TimeoutError as timeout:
            raise LogUnavailable(f"no answer within {self._seconds:g} s") from timeout


class KeyLimiter:
    """Lets a few calls of each key through at once; the others wait, first come, first served.

    A call that waits has touched neither log nor views, so a key that floods the service
    costs the others at most a few calls.

    Args:
        at_once: Calls of one key let through at once.
        waiting: Calls of one key that may wait; one more is refused.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._most = at_once + waiting
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def slot(self, key_id: str, wait_s: float | None = None) -> AsyncIterator[None]:
        """Wait for a slot of *key_id* for *wait_s* at most, and have it until left.

        Raises:
            TooManyWaiting: As many calls wait as may.
            LogUnavailable: No slot came free in time.
        """
        line = self._lines.get(key_id) or _Line(asyncio.Semaphore(self._at_once))
        if line.calls >= self._most:
            raise TooManyWaiting(f"{self._most} calls of this key are waiting")
        self._lines[key_id] = line
        line.calls += 1
        try:
            if line.slots.locked():
                async with within(wait_s):
                    await line.slots.acquire()
            else:
                await line.slots.acquire()
            try:
                yield
            finally:
                line.slots.release()
        finally:
            line.calls -= 1
            if not line.calls:
                del self._lines[key_id]

    def __len__(self) -> int:
        """Return how many calls are let through or wait."""
        return sum(line.calls for line in self._lines.values())


@dataclass
class _Line:
    """The calls of one key: those let through, and those that wait."""

    slots: asyncio.Semaphore
    calls: int = 0
