"""Work of many keys done side by side, that of one key in order, a position known for all.

Work that hangs for one key holds up no other key, and a process that begins again after the
position misses nothing.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, Self, TypeVar

from cs.runtime.coordination import Broadcast, KeyedLock

T = TypeVar("T")


class Lanes(Generic[T]):
    """Use as ``async with``; leaving ends what is under way.

    Args:
        work: Done with every item.  What it raises ends all: `run` and `advanced` raise it.
        after: The position that work begins after.
        capacity: Items at most, waiting or under way; `put` waits for room.
        at_once: Items under way at most; all of them unless given.
    """

    def __init__(
        self,
        work: Callable[[T], Awaitable[None]],
        *,
        after: int,
        capacity: int,
        at_once: int | None = None,
    ) -> None:
        self._work = work
        self._keys = KeyedLock()
        self._under_way = asyncio.Semaphore(at_once or capacity)
        self._slots = asyncio.Semaphore(capacity)
        self._open: deque[int] = deque()  # positions, in order; the first is not done
        self._done: set[int] = set()
        self._after = self._read_to = after
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = Broadcast()
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def position(self) -> int:
        """Up to where all is done."""
        return self._open[0] - 1 if self._open else self._read_to

    async def put(self, key: str, position: int, item: T) -> None:
        """Have *item* done after what was put for *key* before; positions only grow."""
        await self._slots.acquire()
        self._open.append(position)
        task = asyncio.create_task(self._do(key, position, item), name="lane")
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def read_to(self, position: int) -> None:
        """Note that all up to *position* was put that is to be done."""
        self._read_to = position
        self._changed.notify_all()

    async def advanced(self, after: int) -> int:
        """Return `position` as soon as it is beyond *after*.

        Raises:
            Exception: What the work raised.
        """
        while True:
            if self._failure is not None:
                raise self._failure
            if self.position > after:
                return self.position
            await self._changed.wait()

    async def run(
        self,
        reading: Awaitable[None],
        save_position: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        """Do *reading*, which puts items, and save each position up to which all is done.

        Raises:
            Exception: What *reading*, the work or *save_position* raises, the first of them.
        """

        async def save_positions() -> None:
            position = self._after
            while True:
                position = await self.advanced(position)
                if save_position is not None:
                    await save_position(position)

        tasks = [asyncio.ensure_future(reading), asyncio.ensure_future(save_positions())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _do(self, key: str, position: int, item: T) -> None:
        async with self._keys.of(key), self._under_way:
            await self._work(item)
        self._slots.release()
        self._done.add(position)
        while self._open and self._open[0] in self._done:
            self._done.discard(self._open.popleft())
        self._changed.notify_all()

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
            self._changed.notify_all()
