"""Fairness between keys: of each a few calls are worked on at once, and the others wait.

A call that waits has touched nothing: no log, no views.  So whatever one key sends, the
others meet at most a few calls of it.
"""

import asyncio
from collections import deque

from cs.api.errors import TooManyWaiting
from cs.api.time_limits import within

#: Calls of one key worked on at once.  A held call is not worked on.
AT_ONCE_PER_KEY = 4


class KeyLimiter:
    """So many calls of each key at once; the others wait, first come, first served.

    Not a semaphore for each key: most calls find no other of their key, and making one took
    as long as counting them all.

    Args:
        at_once: Calls of one key let through at once.
        waiting: Calls of one key that may wait; one more is refused.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._waiting = waiting
        self._let_through: dict[str, int] = {}
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}

    def slot(self, key_id: str, wait_s: float | None = None) -> "KeySlot":
        """Return what waits for a slot of *key_id* when entered, and has it until left.

        Args:
            key_id: Of whoever calls.
            wait_s: For how long at most; ``None``: the caller sees to that.

        Raises:
            TooManyWaiting: On entering: as many calls wait as may.
            LogUnavailable: On entering: none came free in time.
        """
        return KeySlot(self, key_id, wait_s)

    def take(self, key_id: str) -> bool:
        """Return whether a slot of *key_id* was free, which the caller has now."""
        taken = self._let_through.get(key_id, 0)
        if taken >= self._at_once:
            return False
        self._let_through[key_id] = taken + 1
        return True

    async def acquire(self, key_id: str) -> None:
        """Wait for a slot of *key_id*; whoever has one must `release` it."""
        if self.take(key_id):
            return
        queue = self._queues.setdefault(key_id, deque())
        if len(queue) >= self._waiting:
            raise TooManyWaiting(f"{self._waiting} calls of this key are waiting")
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except BaseException:
            if not turn.cancelled():
                self.release(key_id)  # it was given a slot, and cancelled before it ran
            elif turn in queue:
                queue.remove(turn)
            raise

    def release(self, key_id: str) -> None:
        """Give the slot to who has waited for longest."""
        queue = self._queues.get(key_id, ())
        while queue:
            turn = queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._queues.pop(key_id, None)
        self._let_through[key_id] -= 1
        if not self._let_through[key_id]:
            del self._let_through[key_id]

    def __contains__(self, key_id: str) -> bool:
        """Return whether a call of *key_id* is let through or waits."""
        return key_id in self._let_through

    def __len__(self) -> int:
        """Return how many calls are let through or wait."""
        return sum(self._let_through.values()) + sum(map(len, self._queues.values()))


class KeySlot:
    """A slot of a key, while inside."""

    def __init__(self, limiter: KeyLimiter, key_id: str, wait_s: float | None) -> None:
        self._limiter = limiter
        self._key_id = key_id
        self._wait_s = wait_s

    async def __aenter__(self) -> None:
        if self._limiter.take(self._key_id):
            return
        if self._wait_s is None:
            await self._limiter.acquire(self._key_id)
            return
        async with within(self._wait_s):
            await self._limiter.acquire(self._key_id)

    async def __aexit__(self, *_: object) -> None:
        self._limiter.release(self._key_id)
