"""The clock of a sandbox service: the real time, moved ahead by an offset it keeps.

The offset is one number in a file next to the data, or in a row that all roles follow, so
that a restart, and an operator's command, go by the same time.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Self, TypeAlias

from cs.runtime.broadcast import Broadcast
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolderError
from cs.runtime.private_files import open_private

#: How far ahead of the machine's time it may be moved, all together.
MOST = timedelta(days=3660)

#: Stores an offset where a restart and others find it.
StoreOffset: TypeAlias = Callable[[timedelta], Awaitable[None]]


class SandboxClock:
    """Ticks as the machine's clock does, and jumps when it is moved.

    `monotonic` jumps with it.  What must go by real time (time-outs of I/O, the silence of
    a stage) does not ask this clock.

    Args:
        ahead: How far it was moved before.
        store: Stores an offset, before the clock goes by it.
        real: The clock that ticks.
    """

    def __init__(self, ahead: timedelta, store: StoreOffset, real: Clock) -> None:
        self._real = real
        self._ahead = ahead
        self._store = store
        self._moved = Broadcast()
        self._sleeping: dict[object, datetime] = {}
        self.delays = 0  # of the world, under way now

    @classmethod
    def on_file(cls, file: Path, real: Clock | None = None) -> Self:
        """Return a clock whose offset is kept in *file*, made by the first move.

        Raises:
            DataFolderError: *file* holds something else.
        """

        async def store(ahead: timedelta) -> None:
            await asyncio.to_thread(_write_offset, file, ahead)

        return cls(read_offset(file), store, real or SystemClock())

    def now(self) -> datetime:
        return self._real.now() + self._ahead

    def wall(self) -> datetime:
        return self._real.wall() + self._ahead

    def monotonic(self) -> float:
        return self._real.monotonic() + self._ahead.total_seconds()

    async def sleep_until(self, when: datetime) -> None:
        sleeper = object()
        self._sleeping[sleeper] = when
        try:
            while (left := (when - self.now()).total_seconds()) > 0:
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._moved.wait()
        finally:
            del self._sleeping[sleeper]

    async def sleep(self, seconds: float) -> None:
        """Return once *seconds* have gone by here: how the world delays its answers."""
        self.delays += 1
        try:
            await self.sleep_until(self.now() + timedelta(seconds=seconds))
        finally:
            self.delays -= 1

    @property
    def ahead(self) -> timedelta:
        """The offset."""
        return self._ahead

    def next_due(self) -> datetime | None:
        """Return when the first of those who sleep on this clock wakes."""
        return min(self._sleeping.values(), default=None)

    def furthest(self) -> datetime:
        """Return the last instant that it can be moved to now."""
        return self._real.now() + MOST

    async def move_to(self, when: datetime) -> None:
        """Move ahead to *when*, which is stored first; nothing if it is past.

        Raises:
            ValueError: *when* is after `furthest`.
            OSError: The offset could not be stored; nothing moved.
        """
        ahead = when - self._real.now()
        if ahead <= self._ahead:
            return
        if ahead > MOST:
            raise ValueError(f"{when} is more than {MOST.days} days ahead")
        await self._store(ahead)
        self.moved(ahead)

    def moved(self, ahead: timedelta) -> None:
        """Go by the stored offset *ahead*; never by less than before."""
        if ahead > self._ahead:
            self._ahead = ahead
            self._moved.notify_all()


def read_offset(file: Path) -> timedelta:
    """Return the offset that *file* holds; none if there is no file.

    Raises:
        DataFolderError: It holds something else.
    """
    try:
        ahead = timedelta(seconds=float(file.read_text()))
    except FileNotFoundError:
        return timedelta()
    except (OSError, ValueError, OverflowError):
        ahead = -MOST
    if not timedelta() <= ahead <= MOST:
        raise DataFolderError(
            f"{file} is not a number of seconds from 0 to {MOST.total_seconds():.0f}; "
            "delete it to go by the machine's time again"
        )
    return ahead


def _write_offset(file: Path, ahead: timedelta) -> None:
    new = file.with_name(file.name + ".new")
    with open_private(new, "w") as writing:
        writing.write(f"{ahead.total_seconds():.6f}\n")
        writing.flush()
        os.fsync(writing.fileno())
    new.replace(file)
