"""Bounds on waiting: how long a part of a call may take, and how many calls may wait.

All times are seconds of real time: neither a log that is away nor a caller's network goes by
the service's clock.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.types import Receive

from cs.api.errors import TooManyWaiting
from cs.eventlog.port import LogUnavailable

#: Calls of one key worked on at once.  A held call is not worked on.
AT_ONCE_PER_KEY = 4
#: Calls held at once in this process, if the settings say nothing else.
MAX_LONG_POLLS = 2_000
#: Calls of one key held at once: more than a key's 6 searches a minute can keep waiting,
#: so only a caller that asks for one search over and over meets it.
MAX_LONG_POLLS_PER_KEY = 16


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long each part of a call may take.

    Attributes:
        body_s: The body of a request, once its head is read: 16 KiB at most.
        wait_s: A slot among the calls of the same key: 60 may wait before it.
        admit_s: Deciding on a search and storing it.
        answer_s: Reading the answer to a stored search, beyond its hold; then admission
            answers.
        read_s: A status or usage check, its wait for a slot included, and finding a key.
        uncount_s: Uncounting a check after that.
    """

    body_s: float = 10.0
    wait_s: float = 10.0
    admit_s: float = 5.0
    answer_s: float = 2.0
    read_s: float = 5.0
    uncount_s: float = 0.5


TIME_LIMITS = TimeLimits()


@asynccontextmanager
async def within(seconds: float | None) -> AsyncIterator[None]:
    """Bound the time of the block; ``None``: its caller does.

    Raises:
        LogUnavailable: It took longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError as timeout:
        raise LogUnavailable(f"no answer within {seconds:g} s") from timeout


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


class LongPolls:
    """Bounds held calls.  One that cannot be held is answered 202 at once, not refused."""

    def __init__(
        self, most: int = MAX_LONG_POLLS, most_per_key: int = MAX_LONG_POLLS_PER_KEY
    ) -> None:
        self._most = most
        self._most_per_key = most_per_key
        self._of_key: dict[str, int] = {}
        self.held = 0

    @contextmanager
    def slot(self, key_id: str) -> Iterator[bool]:
        """Count a held call until left; yield whether there was room for it."""
        of_this_key = self._of_key.get(key_id, 0)
        if self.held >= self._most or of_this_key >= self._most_per_key:
            yield False
            return
        self.held += 1
        self._of_key[key_id] = of_this_key + 1
        try:
            yield True
        finally:
            self.held -= 1
            self._of_key[key_id] -= 1
            if not self._of_key[key_id]:
                del self._of_key[key_id]

    async def hold(
        self,
        key_id: str,
        receive: Receive,
        ends: Sequence[Coroutine[Any, Any, None]],
        *,
        leaving: asyncio.Event,
    ) -> bool:
        """Wait until one of *ends* returns, or until the service or the caller leaves.

        Args:
            key_id: Whose call it is; without room for it nothing is waited for.
            receive: Of a call whose body was read.
            ends: What there is to wait for.
            leaving: Set when the service leaves.

        Returns whether the caller has gone.
        """
        with self.slot(key_id) as has_room:
            if not has_room or leaving.is_set():
                for end in ends:
                    end.close()
                return False
            gone = asyncio.ensure_future(_disconnected(receive))
            waits = [gone, *map(asyncio.ensure_future, (*ends, leaving.wait()))]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                return gone.done()
            finally:
                for wait in waits:
                    wait.cancel()
                if not leaving.is_set():  # then nothing may stand before the answer
                    await asyncio.gather(*waits, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    """Return when the caller has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
