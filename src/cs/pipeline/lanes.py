"""Work of many keys done side by side, that of one key in order, a position known for all.

So what hangs for one key holds up nobody else's, and whoever begins again after the position
misses nothing.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Generic, Self, TypeVar

T = TypeVar("T")


class Lanes(Generic[T]):
    """Use as ``async with``; leaving ends what is under way.

    Args:
        work: Done with every item.  What it raises ends all: `advanced` raises it.
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
        self._under_way = asyncio.Semaphore(at_once or capacity)
        self._lanes: dict[object, deque[tuple[int, T]]] = {}
        self._open: deque[int] = deque()  # positions, in order; the first is not done
        self._done: set[int] = set()
        self._read_to = after
        self._slots = asyncio.Semaphore(capacity)
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._failure: BaseException | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def position(self) -> int:
        """Up to where all is done."""
        return self._open[0] - 1 if self._open else self._read_to

    async def put(self, key: object, position: int, item: T) -> None:
        """Have *item* done after what was put for *key* before; positions only grow."""
        await self._slots.acquire()
        self._open.append(position)
        lane = self._lanes.get(key)
        if lane is not None:
            lane.append((position, item))
            return
        self._lanes[key] = deque([(position, item)])
        task = asyncio.create_task(self._run(key), name="lane")
        self._tasks.add(task)
        task.add_done_callback(self._on_end)

    def read_to(self, position: int) -> None:
        """Note that all up to *position* was put that is to be done."""
        self._read_to = position
        self._notify()

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

    async def _run(self, key: object) -> None:
        lane = self._lanes[key]
        while lane:
            position, item = lane[0]
            async with self._under_way:
                await self._work(item)
            lane.popleft()
            self._mark_done(position)
        del self._lanes[key]

    def _on_end(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = error
            self._notify()

    def _mark_done(self, position: int) -> None:
        self._slots.release()
        self._done.add(position)
        while self._open and self._open[0] in self._done:
            self._done.discard(self._open.popleft())
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


async def save_position_while(
    reading: Awaitable[None],
    lanes: Lanes[T],
    after: int,
    save_position: Callable[[int], Awaitable[None]] | None,
) -> None:
    """Do *reading*, which puts items into *lanes*, and save each position that all reach.

    Raises:
        Exception: What *reading*, the work or *save_position* raises, whichever is first.
    """

    async def save_positions() -> None:
        position = after
        while True:
            position = await lanes.advanced(position)
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
