"""A value that callers read together and keep for a while: many may ask at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from cs.runtime.coordination import retrieve_exception

T = TypeVar("T")
#: A value that was read longer ago is given to no caller, however long reading takes.
OLD_S = 300.0


class Shared(Generic[T]):
    """Something that callers read together, again when it is older than *fresh_s*.

    With *may_be_old* they get what was read before, at most `OLD_S` ago, while it is read
    again.
    """

    def __init__(self, fresh_s: float, *, may_be_old: bool = False) -> None:
        self._fresh_s = fresh_s
        self._may_be_old = may_be_old
        self._reading: asyncio.Task[T] | None = None
        self._begun_at = 0.0
        self._last: asyncio.Task[T] | None = None  # that has ended well
        self._last_at = 0.0  # when that began

    async def get(self, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what *read* returns, or returned lately; what it raised is raised."""
        loop, reading = asyncio.get_running_loop(), self._reading
        now = loop.time()
        if reading is not None and reading.done():
            if not reading.cancelled() and reading.exception() is None:
                self._last, self._last_at = reading, self._begun_at
            if reading is not self._last or now - self._begun_at > self._fresh_s:
                reading = None
        if reading is None:
            self._begun_at = now
            reading = self._reading = loop.create_task(read())
            reading.add_done_callback(retrieve_exception)
        is_usable = self._may_be_old and now - self._last_at < OLD_S
        if is_usable and self._last is not None and not reading.done():
            reading = self._last
        return await asyncio.shield(reading)

    def forget(self) -> None:
        """Have the next call read it again: an operator has changed something."""
        self._reading = self._last = None
