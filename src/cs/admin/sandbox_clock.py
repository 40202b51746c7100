"""The clock of a sandbox service: the real time, moved ahead by an offset it keeps.

The offset is one number in a file next to the data, or in a row that all roles follow, so
that a restart, and an operator's command, go by the same time.

`ClockAdvancer` moves it from one due time to the next, and waits for the work that is due at
each: retries are sent, calls are answered when their hold ends, lookups meet their deadlines.
"""

import asyncio
import math
import os
import time
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from cs.runtime.clock import Clock, SystemClock
from cs.runtime.coordination import Broadcast
from cs.runtime.data_folder import DataFolderError
from cs.runtime.private_files import open_private

if TYPE_CHECKING:  # a command or a stage starts without them
    from cs.eventlog.port import EventLog
    from cs.pipeline.driver import Driver
    from cs.pipeline.schedule import AttemptId
    from cs.projections.following import Follower
    from cs.projections.reading import Reading

#: How far ahead of the machine's time it may be moved, all together.
MOST = timedelta(days=3660)


class Pace(NamedTuple):
    """How long to wait for the work of one due time, in real time.

    Attributes:
        look_s: Between two looks at whether everything has come to rest.
        quiet_looks: Looks in a row without any change after which current work is taken to
            wait for the clock (a slow server of the world) or for a time-out of I/O (a silent
            one).  Looks, not seconds: a slower machine takes longer for each.
        rest_s: The longest wait.
    """

    look_s: float
    quiet_looks: float
    rest_s: float


ONE_PROCESS = Pace(0.005, 160, 15.0)
#: For a world in which no server is silent: waits however slow the machine is.
PATIENT = Pace(0.005, math.inf, 120.0)
SEVERAL_PROCESSES = Pace(0.02, 20, 20.0)
#: Quiet looks when as many of the world's answers are delayed as are asked for at once.
ALL_DELAYED_LOOKS = 6
#: With several processes, what is due happens at most this much late.
STEP = timedelta(seconds=5)

#: Stores an offset where a restart and others find it.
StoreOffset: TypeAlias = Callable[[timedelta], Awaitable[None]]


class SandboxClock:
    """Ticks as the machine's clock does, and jumps when it is moved.

    `monotonic` jumps with it.  Time-outs of I/O and the silence of a stage are measured in
    real time, by another clock.

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
        """Return after *seconds* of this clock: the delay of an answer of the made-up world."""
        self.delays += 1
        try:
            await self.sleep_until(self.now() + timedelta(seconds=seconds))
        finally:
            self.delays -= 1

    @property
    def ahead(self) -> timedelta:
        return self._ahead

    def next_due(self) -> datetime | None:
        """Return when the first task that sleeps on this clock wakes."""
        return min(self._sleeping.values(), default=None)

    async def move_to(self, when: datetime) -> None:
        """Move ahead to *when*, which is stored first; nothing if it is past.

        Raises:
            ValueError: *when* is more than `MOST` ahead.
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


@dataclass
class ClockAdvancer:
    """Moves *clock* for one caller at a time, in the order they call.

    Attributes:
        manager: The process manager of a service in one process, which knows every due time.
            With several processes none does: while lookups run, time passes in
            steps, and after each the log has to come to rest.
        reading: Says whether lookups run; where there is no *manager*.
    """

    clock: SandboxClock
    events: "EventLog"
    views: "Follower"
    driver: "Driver | None" = None
    reading: "Reading | None" = None
    pace: Pace = ONE_PROCESS
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def advance(self, by: timedelta) -> datetime:
        """Let *by* pass, and all that is due in it happen; return the time it is then.

        Raises:
            ValueError: The clock cannot be moved so far.
            OSError, DatabaseUnavailable: The clock's offset could not be stored.
        """
        async with self._lock:
            if self.clock.ahead + by > MOST:  # before it is moved a part of the way
                raise ValueError(f"{self.clock.now() + by} is more than {MOST.days} days ahead")
            target = self.clock.now() + by
            await self._rest()
            while (due := await self._next_due()) is not None and due < target:
                await self.clock.move_to(due)
                await self._rest()
            await self.clock.move_to(target)
            await self._rest()
            return self.clock.now()

    async def _rest(self) -> None:
        """Return when nothing is left to do without the clock, or the time for it is up."""
        give_up = time.monotonic() + self.pace.rest_s
        last: Hashable = None
        quiet = 0
        while time.monotonic() < give_up:
            head = await self.events.head()
            caught_up, enough = self._caught_up_with(head), self.pace.quiet_looks
            in_flight: frozenset[AttemptId] = frozenset()
            if self.driver is not None:
                in_flight = self.driver.in_flight()
                if caught_up and not in_flight:
                    return
                # One mail domain is asked by one lookup at a time.
                asked = {item or lookup for lookup, _, item, _ in in_flight}
                enough = ALL_DELAYED_LOOKS if self.clock.delays >= len(asked) else enough
            state = (head, in_flight, self._known_due())
            quiet = quiet + 1 if state == last else 0
            last = state
            if quiet >= enough and caught_up:
                return
            await asyncio.sleep(self.pace.look_s)

    async def _next_due(self) -> datetime | None:
        if self.driver is not None:
            return self._known_due()
        assert self.reading is not None, "one of the two is given"
        running = (await self.reading.unfinished()).lookups
        return self.clock.now() + STEP if running else None

    def _known_due(self) -> datetime | None:
        """Return the next due time of this process; the manager knows it before it sleeps."""
        if self.driver is None:
            return None
        dues = (self.clock.next_due(), self.driver.next_due())
        return min((due for due in dues if due is not None), default=None)

    def _caught_up_with(self, head: int) -> bool:
        """Return whether views and manager have read up to *head* and nothing is due."""
        due = self._known_due()
        return (
            self.views.position >= head
            and (self.driver is None or self.driver.at_rest(head))
            and (due is None or due > self.clock.now())
        )


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
