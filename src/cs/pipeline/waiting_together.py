"""What waits for the same thing while that is busy, done together when it is free."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cs.runtime.keyed_lock import KeyedLock

T = TypeVar("T")


@dataclass(eq=False)
class _Waiting(Generic[T]):
    item: T
    done: bool = False
    error: Exception | None = None


class WaitingTogether(Generic[T]):
    """Has *work* done with the items of a key, one group at a time, in the order they came.

    A group is all that waits when the one before it is done; who comes alone waits for nobody.
    If a group fails, each of it is done by itself, so that only what is at fault fails.

    Args:
        work: Done with a group.  It may be called again with what it was called with before.
    """

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._work = work
        self._locks = KeyedLock()
        self._waiting: dict[str, list[_Waiting[T]]] = {}

    async def do(self, key: str, item: T) -> None:
        """Return once the work with *item* is done.

        Raises:
            Exception: What the work with it raised.
        """
        mine = _Waiting(item)
        waiting = self._waiting.setdefault(key, [])
        waiting.append(mine)
        try:
            async with self._locks.of(key):
                if not mine.done:
                    await self._do_all([each for each in waiting if not each.done])
        finally:
            waiting.remove(mine)
            if not waiting:
                del self._waiting[key]
        if mine.error is not None:
            raise mine.error

    async def _do_all(self, group: Sequence[_Waiting[T]]) -> None:
        if len(group) > 1 and await self._error_of(group) is None:
            for each in group:
                each.done = True
            return
        for each in group:  # alone, or one of them is at fault: which?
            each.error = await self._error_of([each])
            each.done = True

    async def _error_of(self, group: Sequence[_Waiting[T]]) -> Exception | None:
        try:
            await self._work([each.item for each in group])
        except Exception as error:  # noqa: BLE001  raised to who waits for it
            return error
        return None
