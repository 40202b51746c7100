"""Fairness between keys: each has a few places, and its other calls stand in line for them.

A call in line has touched nothing: no log, no views.  So whatever one key sends, the
others meet at most its few places.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

#: Calls of one key worked on at once.  A held call is not worked on.
PLACES = 4


class LineFull(Exception):
    """More calls of this key wait already than it may make in a minute."""


class Lines:
    """A line for each key, first come, first served.

    Args:
        places: Calls of one key let through at once.
        longest: Calls of one key that may wait; one more is turned away.
    """

    def __init__(self, places: int, longest: int) -> None:
        self._places = places
        self._longest = longest
        self._lines: dict[str, asyncio.Semaphore] = {}
        self._calls: dict[str, int] = {}  # let through or waiting

    @asynccontextmanager
    async def place(self, key_id: str) -> AsyncIterator[None]:
        """Wait for a place of *key_id* and keep it until left.

        Raises:
            LineFull: The line is as long as it may be.
        """
        calls = self._calls.get(key_id, 0)
        if calls >= self._places + self._longest:
            raise LineFull(f"{self._longest} calls of this key are waiting")
        line = self._lines.setdefault(key_id, asyncio.Semaphore(self._places))
        self._calls[key_id] = calls + 1
        try:
            async with line:
                yield
        finally:
            self._calls[key_id] -= 1
            if not self._calls[key_id]:
                del self._calls[key_id], self._lines[key_id]

    def __len__(self) -> int:
        """Return how many calls are let through or wait."""
        return sum(self._calls.values())
