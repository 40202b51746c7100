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
#: Batches at a time where each goes over a connection, which may hang: fewer would make all
#: wait for it, more would make each of them smaller.
SIDE_BY_SIDE = 2


class ReadBatches(Generic[Q, A]):
    """Runs *read* over batches of questions, *side_by_side* of them at a time.

    A question is read after it was asked, never with a batch that has begun.  *read* answers
    each by itself, with a value or an exception; if it raises, it does so to all of a batch.

    Args:
        read: Reads a batch.
        side_by_side: With more than one, a batch that hangs keeps no others waiting.
        unheard: Called with a question and its answer, if that is no exception and nobody
            waits for it any more.
    """

    def __init__(
        self,
        read: Callable[[Sequence[Q]], Awaitable[Sequence[A | Exception]]],
        side_by_side: int = 1,
        unheard: Callable[[Q, A], None] = lambda _question, _answer: None,
    ) -> None:
        self._read = read
        self._unheard = unheard
        self._most = side_by_side
        self._asked: list[tuple[Q, asyncio.Future[A]]] = []
        self._reading: dict[object, asyncio.Task[None]] = {}

    async def ask(self, question: Q) -> A:
        """Return the answer to *question*.

        Raises:
            LogUnavailable: From *read*.
            Exception: What *read* answered.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[A] = loop.create_future()
        self._asked.append((question, answer))
        if len(self._reading) < self._most:
            # In a context of its own: what it logs is of no one call.
            lane = object()
            self._reading[lane] = loop.create_task(self._read_all(lane), context=Context())
        return await answer

    async def _read_all(self, lane: object) -> None:
        wanted: Sequence[tuple[Q, asyncio.Future[A]]] = ()
        try:
            while self._asked:
                batch, self._asked = self._asked[:BATCH], self._asked[BATCH:]
                wanted = [each for each in batch if not each[1].done()]
                if wanted:
                    await self._read_batch(wanted)
                    wanted = ()
        finally:
            del self._reading[lane]
            if wanted:  # only if this was cancelled
                for _, answer in (*wanted, *self._asked):
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
        for (question, answer), found in zip(batch, answers, strict=True):
            if isinstance(found, Exception):
                if not answer.done():
                    answer.set_exception(found)
            elif answer.done():
                self._unheard(question, found)
            else:
                answer.set_result(found)


def _copy(error: Exception) -> Exception:
    """Return *error* for one of several, each of whom adds to its traceback."""
    if not isinstance(error, LogUnavailable):
        return error  # a bug
    unavailable = LogUnavailable(str(error))
    unavailable.__cause__ = error
    return unavailable
