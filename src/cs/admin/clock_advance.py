"""Moving the sandbox's clock from one due time to the next, with the work that is due at each.

So a day passes in moments, and everything happens in it that would have: retries are sent,
calls are answered when their hold ends, lookups meet their deadlines.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from cs.admin.sandbox_clock import SandboxClock
from cs.eventlog.port import EventLog
from cs.projections.follower import Follower

if TYPE_CHECKING:  # a stage starts without them
    from cs.pipeline.process_manager import ProcessManager
    from cs.projections.reading import Reading

#: Real time between two looks at whether everything has come to rest: in one process, and
#: with several.
LOOK_S, SHARED_LOOK_S = 0.005, 0.02
#: Looks in a row without any event or wake-up after which work in hand is taken to wait for
#: the clock (a slow server of the world) or for a time-out of I/O (a silent one).  Looks, not
#: seconds: 0.8 s, and as much more as the machine and so the work is slower.
QUIET_LOOKS = 160
#: The same when as many of the world's answers are delayed as are asked for at once.
ALL_DELAYED_LOOKS = 6
#: The same where the roles are several processes: 0.4 s.
SHARED_QUIET_LOOKS = 20
#: Real time for the work of one due time: in one process, if it is patient, and with several.
REST_S, PATIENT_REST_S, SHARED_REST_S = 15.0, 120.0, 20.0
#: With several processes, what is due happens at most this much late.
SHARED_STEP = timedelta(seconds=5)


class ClockAdvancer(Protocol):
    """Moves *clock* on for one caller at a time, in the order they call."""

    @property
    def clock(self) -> SandboxClock: ...

    async def advance(self, by: timedelta) -> datetime:
        """Let *by* pass, and all that is due in it happen; return the time it is then.

        Raises:
            ValueError: The clock cannot be moved so far.
            OSError, DatabaseUnavailable: The clock's offset could not be stored.
        """


async def _advance(
    clock: SandboxClock,
    by: timedelta,
    rest: Callable[[], Awaitable[None]],
    next_due: Callable[[], Awaitable[datetime | None]],
) -> datetime:
    target = clock.now() + by
    if target > clock.furthest():
        raise ValueError(f"{target} is after {clock.furthest()}")
    await rest()
    while (due := await next_due()) is not None and due < target:
        await clock.move_to(due)
        await rest()
    await clock.move_to(target)
    await rest()
    return clock.now()


@dataclass
class OneProcessClockAdvancer:
    """The `ClockAdvancer` of a service in one process, where every due time is known.

    Attributes:
        patient: Wait for work in hand, however slow the machine is, unless all of it waits
            for the clock.  For a world in which no server is silent.
    """

    clock: SandboxClock
    events: EventLog
    views: Follower
    manager: "ProcessManager"
    patient: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def advance(self, by: timedelta) -> datetime:
        """Advance the clock as `ClockAdvancer` says."""

        async def next_due() -> datetime | None:
            return self._next_due()

        async with self._lock:
            return await _advance(self.clock, by, self._rest, next_due)

    async def next(self) -> None:
        """Wait until everything waits for the clock; move it to the next due time.

        Unlike `advance` this waits however long a time-out of I/O takes, so the result of
        the work is the same as without a move.
        """
        async with self._lock:
            while True:
                await self._rest()
                due = self._next_due()
                head = await self.events.head()
                if due and self._caught_up_with(head) and self._all_delayed():
                    await self.clock.move_to(due)
                    return
                await asyncio.sleep(LOOK_S)

    async def _rest(self) -> None:
        """Return when nothing is left to do without the clock, or the time for it is up."""
        give_up = time.monotonic() + (PATIENT_REST_S if self.patient else REST_S)
        last: Hashable = None
        quiet = 0
        while time.monotonic() < give_up:
            head = await self.events.head()
            if self._caught_up_with(head) and not self.manager.in_flight():
                return
            state = (head, self.manager.in_flight(), self._next_due())
            quiet = quiet + 1 if state == last else 0
            last = state
            if quiet >= self._quiet_looks() and self._caught_up_with(head):
                return
            await asyncio.sleep(LOOK_S)

    def _quiet_looks(self) -> float:
        if self._all_delayed():
            return ALL_DELAYED_LOOKS
        return math.inf if self.patient else QUIET_LOOKS

    def _all_delayed(self) -> bool:
        # One mail domain is asked by one lookup at a time.
        asked = {item or lookup for lookup, _, item, _ in self.manager.in_flight()}
        return self.clock.delays >= len(asked)

    def _next_due(self) -> datetime | None:
        """Return the next due time; the manager knows it before it sleeps."""
        dues = (self.clock.next_due(), self.manager.next_due())
        return min((due for due in dues if due is not None), default=None)

    def _caught_up_with(self, head: int) -> bool:
        """Return whether views and manager have read up to *head* and nothing is due."""
        due = self._next_due()
        return (
            self.views.position >= head
            and self.manager.at_rest(head)
            and (due is None or due > self.clock.now())
        )


@dataclass
class SharedClockAdvancer:
    """The `ClockAdvancer` of a service whose roles are several processes.

    No process knows every due time there.  While lookups run, time passes in steps, and after
    each the log has to come to rest; otherwise at once.
    """

    clock: SandboxClock
    events: EventLog
    views: Follower
    reading: "Reading"
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def advance(self, by: timedelta) -> datetime:
        """Advance the clock as `ClockAdvancer` says."""
        async with self._lock:
            return await _advance(self.clock, by, self._rest, self._next_step)

    async def _next_step(self) -> datetime | None:
        running = (await self.reading.unfinished()).lookups
        return self.clock.now() + SHARED_STEP if running else None

    async def _rest(self) -> None:
        give_up = time.monotonic() + SHARED_REST_S
        head, quiet = -1, 0
        while time.monotonic() < give_up:
            found = await self.events.head()
            quiet = quiet + 1 if found == head else 0
            head = found
            if quiet >= SHARED_QUIET_LOOKS and self.views.position >= head:
                return
            await asyncio.sleep(SHARED_LOOK_S)
