"""Work of many keys done side by side, that of one key in order, a position known for all.

Work that hangs for one key holds up no other key, and a process that begins again after the
position misses nothing.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from cs.runtime.coordination import Broadcast, KeyedLock

T = TypeVar("T")


class Lanes(Generic[T]):
    """Does *work* with every item that `run` is given.

    Args:
        work: What it raises ends all: `run` raises it.
        after: The position that work begins after.
        capacity: Items at most, waiting or under way; with more, no further page is read.
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

    @property
    def position(self) -> int:
        """The position up to which all is done."""
        return self._open[0] - 1 if self._open else self._read_to

    async def run(
        self,
        pages: AsyncIterator[tuple[Iterable[tuple[str, int, T]], int]],
        save_position: Callable[[int], Awaitable[None]] | None = None,
    ) -> None:
        """Work on *pages* until one fails, and save each position up to which all is done.

        Args:
            pages: Items, each with its key and its position, and the position up to which
                they are all there is.  Positions only grow.
            save_position: Called one time after the other.

        Raises:
            Exception: What reading, the work or *save_position* raises, the first of them.
        """
        reading = asyncio.create_task(self._read(pages))
        saving = asyncio.create_task(self._save_positions(save_position))
        try:
            done, _ = await asyncio.wait((reading, saving), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            tasks = [reading, saving, *self._tasks]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(
        self, pages: AsyncIterator[tuple[Iterable[tuple[str, int, T]], int]]
    ) -> None:
        async for items, end in pages:
            await self._start(items)
            del items  # they may hold people: nothing is kept while the next are waited for
            self._read_to = end
            self._changed.notify_all()

    async def _start(self, items: Iterable[tuple[str, int, T]]) -> None:
        for key, position, item in items:
            await self._slots.acquire()
            self._open.append(position)
            task = asyncio.create_task(self._do(key, position, item), name="lane")
            self._tasks.add(task)
            task.add_done_callback(self._on_end)

    async def _save_positions(
        self, save_position: Callable[[int], Awaitable[None]] | None
    ) -> None:
        saved = self._after
        while True:
            if self._failure is not None:
                raise self._failure
            if self.position <= saved:
                await self._changed.wait()
                continue
            saved = self.position
            if save_position is not None:
                await save_position(saved)

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
