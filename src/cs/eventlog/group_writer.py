"""Many appends, one transaction: a task drains a queue and writes a batch at a time.

One durable commit costs about the same whether it carries one append or five hundred,
so callers that wait together share it (docs/architecture.md, "Event log").
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, Generic, Self, TypeVar

from cs.eventlog.errors import AppendInDoubt, LogUnavailable
from cs.runtime import failpoints

Q = TypeVar("Q")
A = TypeVar("A")

#: Appends in one transaction.
BATCH = 512
#: Appends waiting; more are refused at once, while their callers still wait.
WAITING = 10_000


class GroupWriter(Generic[Q, A]):
    """Runs *write* over batches of requests, one batch at a time.

    *write* answers each request of a batch by itself, with a value or an exception, so
    that one that fails leaves the others alone.  If it raises, all of the batch fail
    with `AppendInDoubt` if that was raised, else with `LogUnavailable`.  *wrote* is called
    on the event loop with each answer, in order, before its caller gets it.

    At most *waiting* requests wait (`WAITING` if ``None``); one more is refused.
    """

    def __init__(
        self,
        write: Callable[[Sequence[Q]], Coroutine[Any, Any, Sequence[A | Exception]]],
        wrote: Callable[[Q, A], None],
        *,
        waiting: int | None = None,
    ) -> None:
        self._most = WAITING if waiting is None else waiting
        self._write = write
        self._wrote = wrote
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._some = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._writing: asyncio.Task[Sequence[A | Exception]] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._drain(), name="group-writer")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop; whoever still waits gets `LogUnavailable`."""
        assert self._task is not None
        task, self._task = self._task, None
        task.cancel()
        try:
            await asyncio.wait([task])
        finally:
            for _request, future in self._waiting:
                if not future.done():
                    future.set_exception(LogUnavailable("the log is stopping"))
            self._waiting.clear()

    @property
    def waiting(self) -> int:
        """Return how many requests wait."""
        return len(self._waiting)

    async def submit(self, request: Q) -> A:
        """Return the answer to *request*.

        Raises:
            LogUnavailable: The writer is stopping or too many wait.
            AppendInDoubt: It was being written when the answer was lost.
            Exception: What *write* answered for this request.
        """
        if self._task is None:
            raise LogUnavailable("the log is not open")
        if len(self._waiting) >= self._most:
            raise LogUnavailable(f"{self._most} appends are waiting already")
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        self._some.set()
        return await future

    async def _drain(self) -> None:
        while True:
            await self._some.wait()
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            if not self._waiting:
                self._some.clear()
            requests = [request for request, _ in batch]
            failpoints.reach("log.before-write")
            writing = self._writing = asyncio.create_task(
                self._write(requests), name="group-write"
            )
            try:
                # Waiting does not cancel it: what is being committed is finished first.
                await asyncio.wait([writing])
            except asyncio.CancelledError:
                while not writing.done():  # however often it is cancelled
                    with suppress(asyncio.CancelledError):
                        await asyncio.wait([writing])
                raise
            finally:
                self._answer(batch, writing)

    def _answer(
        self,
        batch: Sequence[tuple[Q, asyncio.Future[A]]],
        writing: asyncio.Future[Sequence[A | Exception]],
    ) -> None:
        error = writing.exception()
        if error is not None:
            for _, future in batch:
                if not future.done():
                    kind = AppendInDoubt if isinstance(error, AppendInDoubt) else LogUnavailable
                    unavailable = kind(f"the log could not write: {error}")
                    unavailable.__cause__ = error
                    future.set_exception(unavailable)
            return
        failpoints.reach("log.before-answer")
        for (request, future), answer in zip(batch, writing.result(), strict=True):
            if isinstance(answer, Exception):
                if not future.done():
                    future.set_exception(answer)
            else:
                self._wrote(request, answer)
                if not future.done():
                    future.set_result(answer)
