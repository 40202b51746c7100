"""Work that takes longer than a call waits: results are shared by those who ask, and kept."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from cs.runtime.coordination import KeyedLock, retrieve_exception
from cs.runtime.lru import LruDict

#: How long a result is given out again, from the end of its work on.
KEPT_S = 300.0
#: How long a caller waits for a result unless it says otherwise: a page answers at once.
WAIT_S = 0.05
#: Results that are kept, and pieces of work that may wait for their turn.
KEPT, WAITING = 16, 4


class SlowWorkFailed(Exception):
    """The work did not end well, or cannot begin now; the message says why."""


class SlowWork:
    """Does one piece of work of each kind at a time.

    Args:
        do: Does the work of a kind, with its arguments.
    """

    def __init__(self, do: Callable[..., Awaitable[Any]]) -> None:
        self._do = do
        self._turns = KeyedLock()
        # By what is asked for: when its work ended, or began while it runs.
        self._since = LruDict[tuple[Any, ...], tuple[float, asyncio.Task[Any]]](KEPT)

    async def do(self, kind: str, *words: Any) -> Any:
        """Return the result of work whose result is kept for no other caller."""
        async with self._turns.of(kind):
            return await self._do(kind, *words)

    async def get(
        self, kind: str, *words: Any, kept_s: float = KEPT_S, wait_s: float = WAIT_S
    ) -> Any | None:
        """Return the result of work, at most *kept_s* old; ``None``: ask again, it runs.

        Raises:
            SlowWorkFailed: Too much waits already.
            Exception: As the work does; the next call begins it again.
        """
        now, asked = asyncio.get_running_loop().time(), (kind, *words)
        since, task = self._since.use(asked) or (0.0, None)
        if task is None or (task.done() and now - since > kept_s):
            if sum(not each.done() for _, each in self._since.values()) >= WAITING:
                raise SlowWorkFailed("too much is being made now; try again in a minute")
            task = asyncio.create_task(self.do(*asked), name=kind)
            task.add_done_callback(partial(self._ended, asked))
            self._since[asked] = now, task
        await asyncio.wait({task}, timeout=wait_s)
        if not task.done():
            return None
        if task.exception() is not None:
            self._since.pop(asked, None)
        return task.result()

    def last(self, kind: str, *words: Any) -> Any | None:
        """Return the last result, however old; ``None``: there is none."""
        _, task = self._since.get((kind, *words), (0.0, None))
        ended_well = task is not None and task.done() and task.exception() is None
        return task.result() if task is not None and ended_well else None

    def _ended(self, asked: tuple[Any, ...], task: asyncio.Task[Any]) -> None:
        retrieve_exception(task)
        if self._since.get(asked, (0.0, None))[1] is task:
            self._since[asked] = task.get_loop().time(), task
