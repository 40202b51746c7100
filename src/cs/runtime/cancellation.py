"""Work with tasks of its own that somebody may want to end while it fails.

A `asyncio.TaskGroup` of Python 3.11 and 3.12 forgets that it was cancelled if one of its
tasks fails in the same moment: it raises only the failure (CPython's issue 116720).  Who
takes the failure as a reason to try again would then never end.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def as_whole(work: Coroutine[Any, Any, T]) -> T:
    """Return what *work* gives, or raise what it raises; if cancelled, end it and say so."""
    task = asyncio.create_task(work)
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise
    return task.result()
