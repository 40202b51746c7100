"""Additions to asyncio: locks by name, waking all tasks that wait, sure cancellation."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)


class KeyedLock:
    """A lock for each name: callers with the same name queue, others do not meet.

    It holds nothing for a name that no task has locked or waits for.
    """

    def __init__(self) -> None:
        self._locks = WeakValueDictionary[str, asyncio.Lock]()

    def of(self, name: str) -> asyncio.Lock:
        """Return the lock of *name*."""
        lock = self._locks.get(name)
        if lock is None:
            lock = self._locks[name] = asyncio.Lock()
        return lock

    def __len__(self) -> int:
        return len(self._locks)


class Broadcast:
    """Wakes all tasks that wait at the next `notify_all`; an earlier one wakes none."""

    def __init__(self) -> None:
        self._next = asyncio.Event()

    def notify_all(self) -> None:
        notified, self._next = self._next, asyncio.Event()
        notified.set()

    def upcoming(self) -> asyncio.Event:
        """Return the event that the next `notify_all` sets.

        Taken before something is looked at that takes a while, it is set by what happens
        meanwhile.
        """
        return self._next

    async def wait(self) -> None:
        """Wait for the next `notify_all`."""
        await self._next.wait()


def retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Mark the error of *task* as seen: asyncio logs one whose waiters have all gone."""
    if not task.cancelled():
        task.exception()


async def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run *work*, which has tasks of its own, as a task; return its result or raise its error.

    If the caller is cancelled, so is *work*; once it has ended the cancellation goes on.  An
    `asyncio.TaskGroup` of Python 3.11 and 3.12 forgets that it was cancelled if one of its
    tasks fails in the same moment: it raises only the failure (CPython's issue 116720), and a
    caller that tries again after a failure would then never end.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return task.result()


@asynccontextmanager
async def in_background(work: Coroutine[Any, Any, object], name: str) -> AsyncIterator[None]:
    """Run *work* as a task called *name* until left."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def leaf_errors(group: BaseExceptionGroup[E]) -> Iterator[E]:
    """Yield the errors of *group* and of the groups in it, in order.

    >>> inner = ExceptionGroup("inner", [ValueError("b")])
    >>> [str(error) for error in leaf_errors(ExceptionGroup("outer", [KeyError(1), inner]))]
    ['1', 'b']
    """
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from leaf_errors(error)
        else:
            yield error
