"""Work in batches: what is submitted while a batch runs forms the next one.

One commit, one hop to a thread and one message to a server cost about the same for one item
as for hundreds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class BatcherFull(Exception):
    """Too many items wait."""


class BatcherClosed(Exception):
    """Nothing is taken any more."""


class Batcher(Generic[Q, A]):
    """Runs *run* over batches of items.

    An item whose caller has gone is left out, unless its batch has begun.

    Args:
        run: Answers each item of a batch by itself, with a value or an exception; what it
            raises is raised to all of a batch.
        size: Items in one batch.
        waiting: Items that wait; one more is refused.  No bound unless given.
        lanes: Batches at a time.  With more than one, a batch that hangs keeps no others
            waiting.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Q]], Awaitable[Sequence[A | Exception]]],
        *,
        size: int,
        waiting: int | None = None,
        lanes: int = 1,
    ) -> None:
        self._run = run
        self._size = size
        self._most = waiting
        self._lanes = lanes
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._running: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def waiting(self) -> int:
        """Return how many items wait."""
        return len(self._waiting)

    async def submit(self, item: Q) -> A:
        """Return the answer to *item*.

        Raises:
            BatcherFull, BatcherClosed: It was not taken.
            Exception: What *run* answered for it, or raised.
        """
        if self._closed:
            raise BatcherClosed
        if self._most is not None and len(self._waiting) >= self._most:
            raise BatcherFull(f"{self._most} are waiting already")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[A] = loop.create_future()
        self._waiting.append((item, answer))
        if len(self._running) < self._lanes:
            # In a context of its own: what it logs is of no one call.
            self._running.add(loop.create_task(self._run_all(), context=Context()))
        return await answer

    async def close(self) -> None:
        """Take nothing more, refuse what waits, and wait for the batches that have begun.

        Those are finished, and answered, even if the caller is cancelled.
        """
        self._closed = True
        for _, answer in self._waiting:
            if not answer.done():
                answer.set_exception(BatcherClosed())
        self._waiting.clear()
        if self._running:
            await asyncio.wait(self._running)

    async def _run_all(self) -> None:
        batch: Sequence[tuple[Q, asyncio.Future[A]]] = ()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
                batch = [each for each in batch if not each[1].done()]
                if batch:
                    _settle(batch, await self._answers([item for item, _ in batch]))
        finally:
            self._running.discard(asyncio.current_task())
            for _, answer in batch:
                answer.cancel()  # unless it was answered: this was cancelled
            if not self._running:
                for _, answer in self._waiting:
                    answer.cancel()
                self._waiting.clear()

    async def _answers(self, items: Sequence[Q]) -> Sequence[A | Exception]:
        try:
            return await self._run(items)
        except Exception as error:  # noqa: BLE001  raised to each caller
            return [error] * len(items)


def _settle(
    batch: Sequence[tuple[object, asyncio.Future[A]]], answers: Sequence[A | Exception]
) -> None:
    for (_, future), answer in zip(batch, answers, strict=True):
        if future.done():
            continue
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
