"""Fairness between keys: of each a few calls are worked on at once, and the others wait.

A call that waits has touched nothing: no log, no views.  So whatever one key sends, the
others meet at most a few calls of it.
"""

import asyncio

from cs.api.errors import TooManyWaiting

#: Calls of one key worked on at once.  A held call is not worked on.
AT_ONCE_PER_KEY = 4


class KeyLimiter:
    """A semaphore for each key, first come, first served.

    Args:
        at_once: Calls of one key let through at once.
        waiting: Calls of one key that may wait; one more is refused.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once = at_once
        self._waiting = waiting
        self._semaphores: dict[str, asyncio.Semaphore] = {}
        self._calls: dict[str, int] = {}  # let through or waiting

    def slot(self, key_id: str) -> "KeySlot":
        """Return what waits for a slot of *key_id* when entered, and has it until left.

        Raises:
            TooManyWaiting: On entering: as many calls wait as may.
        """
        return KeySlot(self, key_id)

    async def acquire(self, key_id: str) -> None:
        """Wait for a slot of *key_id*; whoever has one must `release` it."""
        calls = self._calls.get(key_id, 0)
        if calls >= self._at_once + self._waiting:
            raise TooManyWaiting(f"{self._waiting} calls of this key are waiting")
        semaphore = self._semaphores.get(key_id)
        if semaphore is None:
            semaphore = self._semaphores[key_id] = asyncio.Semaphore(self._at_once)
        self._calls[key_id] = calls + 1
        try:
            await semaphore.acquire()
        except BaseException:
            self._leave(key_id)
            raise

    def release(self, key_id: str) -> None:
        self._semaphores[key_id].release()
        self._leave(key_id)

    def _leave(self, key_id: str) -> None:
        self._calls[key_id] -= 1
        if not self._calls[key_id]:
            del self._calls[key_id], self._semaphores[key_id]

    def __len__(self) -> int:
        """Return how many calls are let through or wait."""
        return sum(self._calls.values())


class KeySlot:
    """A slot of a key, while inside."""

    def __init__(self, limiter: KeyLimiter, key_id: str) -> None:
        self._limiter = limiter
        self._key_id = key_id

    async def __aenter__(self) -> None:
        await self._limiter.acquire(self._key_id)

    async def __aexit__(self, *_: object) -> None:
        self._limiter.release(self._key_id)
