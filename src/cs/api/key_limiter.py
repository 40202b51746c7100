"""Fairness between keys: each has a few places, and its other calls stand in line for them.

A call in line has touched nothing: no log, no views.  So whatever one key sends, the
others meet at most its few places.
"""

import asyncio

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

    def place(self, key_id: str) -> "Place":
        """Return what waits for a place of *key_id* when entered, and keeps it until left.

        Raises:
            LineFull: On entering: the line is as long as it may be.
        """
        return Place(self, key_id)

    async def take(self, key_id: str) -> None:
        """Wait for a place of *key_id*; whoever got one gives it back."""
        calls = self._calls.get(key_id, 0)
        if calls >= self._places + self._longest:
            raise LineFull(f"{self._longest} calls of this key are waiting")
        line = self._lines.get(key_id)
        if line is None:
            line = self._lines[key_id] = asyncio.Semaphore(self._places)
        self._calls[key_id] = calls + 1
        try:
            await line.acquire()
        except BaseException:
            self._leave(key_id)
            raise

    def give_back(self, key_id: str) -> None:
        self._lines[key_id].release()
        self._leave(key_id)

    def _leave(self, key_id: str) -> None:
        self._calls[key_id] -= 1
        if not self._calls[key_id]:
            del self._calls[key_id], self._lines[key_id]

    def __len__(self) -> int:
        """Return how many calls are let through or wait."""
        return sum(self._calls.values())


class Place:
    """A place among the calls of a key, while inside."""

    def __init__(self, lines: Lines, key_id: str) -> None:
        self._lines = lines
        self._key_id = key_id

    async def __aenter__(self) -> None:
        await self._lines.take(self._key_id)

    async def __aexit__(self, *_: object) -> None:
        self._lines.give_back(self._key_id)
