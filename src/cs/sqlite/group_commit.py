"""Writes of many callers in one transaction: a commit costs the same for one as for all.

The event log has a writer of its own (`cs.eventlog.group_writer`), whose requests are events.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from cs.sqlite.database import DatabaseThreads, transaction

T = TypeVar("T")

#: Calls in one transaction.
BATCH = 512
#: Calls that wait; more are refused at once, while their callers still wait.
WAITING = 10_000


class _GroupCall(NamedTuple):
    write: Callable[[], Any]
    then: Callable[[Any], object] | None
    done: asyncio.Future[Any]


class _GroupAnswer(NamedTuple):
    value: Any
    error: Exception | None


class GroupCommit:
    """Runs writes to *connection* in *thread*, those that wait together in one transaction.

    A write begins no transaction itself.  What raises is undone by itself, and leaves the
    others alone.
    """

    def __init__(self, connection: sqlite3.Connection, thread: DatabaseThreads) -> None:
        self._connection = connection
        self._thread = thread
        self._waiting: list[_GroupCall] = []
        self._writing: asyncio.Task[None] | None = None

    async def run(self, write: Callable[[], T], then: Callable[[T], object] | None = None) -> T:
        """Return what *write* returns, once it is durable and *then* was called with it.

        What has begun is done also if the caller is cancelled; before that it is not.

        Raises:
            sqlite3.Error: Too many wait, or the transaction could not be stored: nothing was.
            Exception: What *write* raised, and nothing of it was stored; or *then*.
        """
        if len(self._waiting) >= WAITING:
            raise sqlite3.OperationalError(f"{WAITING} writes are waiting already")
        call = _GroupCall(write, then, asyncio.get_running_loop().create_future())
        self._waiting.append(call)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all(), name="group-commit")
        done: T = await call.done
        return done

    async def _write_all(self) -> None:
        batch: Sequence[_GroupCall] = ()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                batch = [call for call in batch if not call.done.done()]
                if batch:
                    _answer(batch, await self._answers(batch))
        finally:
            self._writing = None
            for call in (*batch, *self._waiting):  # it was cancelled
                call.done.cancel()
            self._waiting.clear()

    async def _answers(self, batch: Sequence[_GroupCall]) -> Sequence[_GroupAnswer]:
        try:
            return await self._thread.run(self._write_together, batch)
        except Exception as error:  # noqa: BLE001  each caller is told
            return [_GroupAnswer(None, error)] * len(batch)

    def _write_together(self, batch: Sequence[_GroupCall]) -> list[_GroupAnswer]:
        with transaction(self._connection):
            answers = [self._write_one(call.write) for call in batch]
        return [_after(call, answer) for call, answer in zip(batch, answers, strict=True)]

    def _write_one(self, write: Callable[[], Any]) -> _GroupAnswer:
        self._connection.execute("SAVEPOINT one")
        try:
            answer = _GroupAnswer(write(), None)
        except Exception as error:
            if not self._connection.in_transaction:  # a full disk has ended it, for all
                raise
            self._connection.execute("ROLLBACK TO one")
            answer = _GroupAnswer(None, error)
        self._connection.execute("RELEASE one")
        return answer


def _after(call: _GroupCall, answer: _GroupAnswer) -> _GroupAnswer:
    if call.then is not None and answer.error is None:
        try:
            call.then(answer.value)
        except Exception as error:  # noqa: BLE001  its caller is told
            return _GroupAnswer(None, error)
    return answer


def _answer(batch: Sequence[_GroupCall], answers: Sequence[_GroupAnswer]) -> None:
    for call, answer in zip(batch, answers, strict=True):
        if call.done.done():
            continue
        if answer.error is None:
            call.done.set_result(answer.value)
        else:
            call.done.set_exception(answer.error)
