"""Runs work that has tasks of its own, so that it can always be cancelled.

An `asyncio.TaskGroup` of Python 3.11 and 3.12 forgets that it was cancelled if one of its
tasks fails in the same moment: it raises only the failure (CPython's issue 116720).  A
caller that tries again after a failure would then never end.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def run_cancellable(work: Coroutine[Any, Any, T]) -> T:
    """Run *work* as a task; return its result or raise its error.

    If the caller is cancelled, so is *work*; once it has ended the cancellation goes on.
    """
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return task.result()
