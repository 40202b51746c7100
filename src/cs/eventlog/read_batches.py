"""Small reads, made together: what is asked for while a batch is read is the next batch.

A read in a thread costs ten times what SQLite does for it, and one of a database across a
socket twice; a batch costs that once.  Who asks alone waits for nobody.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import Context
from typing import Generic, TypeVar

from cs.eventlog.errors import LogUnavailable

Q = TypeVar("Q")
A = TypeVar("A")

#: Reads in one batch.
BATCH = 64


class ReadBatches(Generic[Q, A]):
    """Runs *read* over batches of questions, one batch at a time.

    A question is read after it was asked, never with a batch that has begun.  *read* answers
    each by itself, with a value or an exception; if it raises, it does so to all of a batch.
    """

    def __init__(
        self, read: Callable[[Sequence[Q]], Awaitable[Sequence[A | Exception]]]
    ) -> None:
        self._read = read
        self._asked: list[tuple[Q, asyncio.Future[A]]] = []
        self._begun: Sequence[tuple[Q, asyncio.Future[A]]] = ()
        self._reading: asyncio.Task[None] | None = None

    async def ask(self, question: Q) -> A:
        """Return the answer to *question*.

        Raises:
            LogUnavailable: From *read*.
            Exception: What *read* answered.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[A] = loop.create_future()
        self._asked.append((question, answer))
        if self._reading is None:
            # In a context of its own: what it logs is of no one call.
            self._reading = loop.create_task(self._read_all(), context=Context())
        return await answer

    async def _read_all(self) -> None:
        try:
            while self._asked:
                batch, self._asked = self._asked[:BATCH], self._asked[BATCH:]
                wanted = [each for each in batch if not each[1].done()]
                if wanted:
                    self._begun = wanted
                    await self._read_batch(wanted)
                    self._begun = ()
        finally:
            self._reading = None
            for _, answer in (*self._begun, *self._asked):  # only if this was cancelled
                answer.cancel()
            self._asked.clear()

    async def _read_batch(self, batch: Sequence[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            answers = await self._read([question for question, _ in batch])
        except Exception as error:  # noqa: BLE001  each who asked is told
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(_copy(error))
            return
        for (_, answer), found in zip(batch, answers, strict=True):
            if answer.done():
                continue
            if isinstance(found, Exception):
                answer.set_exception(found)
            else:
                answer.set_result(found)


def _copy(error: Exception) -> Exception:
    """Return *error* for one of several, each of whom adds to its traceback."""
    if not isinstance(error, LogUnavailable):
        return error  # a bug
    unavailable = LogUnavailable(str(error))
    unavailable.__cause__ = error
    return unavailable
