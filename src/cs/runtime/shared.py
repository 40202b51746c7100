"""A value that callers read together and keep for a while: many may ask at once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Shared(Generic[T]):
    """Something that callers read together, again when it is older than *fresh_s*.

    With *may_be_old* they get what was read before while it is read again.
    """

    def __init__(self, fresh_s: float, *, may_be_old: bool = False) -> None:
        self._fresh_s = fresh_s
        self._may_be_old = may_be_old
        self._reading: asyncio.Task[T] | None = None
        self._last: asyncio.Task[T] | None = None  # that has ended well
        self._until = 0.0

    async def get(self, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what *read* returns, or returned lately; what it raised is raised."""
        loop, reading = asyncio.get_running_loop(), self._reading
        if reading is not None and reading.done():
            if reading.exception() is None:
                self._last = reading
            else:
                reading = None
        if reading is None or loop.time() > self._until:
            self._until = loop.time() + self._fresh_s
            reading = self._reading = loop.create_task(read())
        if self._may_be_old and self._last is not None and not reading.done():
            reading = self._last
        return await asyncio.shield(reading)

    def forget(self) -> None:
        """Have the next call read it again: an operator has changed something."""
        self._reading = self._last = None
