"""Moving the sandbox's clock from one due time to the next, the work done at each.

So a day goes by in moments, and everything happens in it that would have: retries are
asked again, calls are answered when their hold ends, lookups meet their deadlines.
"""

import asyncio
import math
import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cs.admin.sandbox_clock import SandboxClock
from cs.eventlog.port import EventLog
from cs.pipeline.process_manager import ProcessManager
from cs.projections.follower import Follower

#: Real time between two looks at whether everything has come to rest.
LOOK_S = 0.005
#: Looks in a row without any event or wake-up after which work in hand is taken to wait:
#: for the clock (a slow server of the world) or for a time-out of I/O (a silent one).
#: Looks, not seconds: 0.8 s, and as much more as the machine and so the work is slower.
QUIET_LOOKS = 160
#: The same when as many of the world's answers are delayed as are asked for at once.
ALL_DELAYED_LOOKS = 6
#: Real time that the work of one due time gets at most.
REST_S = 15.0
#: The same for who is patient.
PATIENT_REST_S = 120.0


@dataclass
class OneProcessClockAdvancer:
    """Moves *clock* on for one caller at a time, in the order they call.

    Attributes:
        patient: Work in hand is waited for, however slow the machine is, unless all of it
            waits for the clock.  For a world in which nobody is silent.
    """

    clock: SandboxClock
    events: EventLog
    views: Follower
    manager: ProcessManager
    patient: bool = False
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def advance(self, by: timedelta) -> datetime:
        """Let *by* go by, and what is due in it happen; return the time it is then.

        Raises:
            ValueError: The clock cannot be moved so far.
            OSError: The clock's offset could not be stored.
        """
        async with self._lock:
            target = self.clock.now() + by
            if target > self.clock.furthest():
                raise ValueError(f"{target} is after {self.clock.furthest()}")
            await self._rest()
            while (due := self._next_due()) is not None and due < target:
                await self.clock.move_to(due)
                await self._rest()
            await self.clock.move_to(target)
            await self._rest()
            return self.clock.now()

    async def next(self) -> None:
        """Wait until everybody waits for the clock; move it to the next due time.

        Unlike `advance` this waits however long a time-out of I/O takes, so what comes of
        the work is what would have come of it without a move.
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
        """Return when nothing is left to do without the clock, or time for it is up."""
        give_up = time.monotonic() + (PATIENT_REST_S if self.patient else REST_S)
        last: Hashable = None
        quiet = 0
        while time.monotonic() < give_up:
            head = await self.events.head()
            if self._idle_at(head):
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
        # One mail domain is asked by one at a time, whoever wants it.
        asked = {item or lookup for lookup, _, item, _ in self.manager.in_flight()}
        return self.clock.delays >= len(asked)

    def _next_due(self) -> datetime | None:
        """Return when something is due next: to the manager too, who may not sleep yet."""
        dues = (self.clock.next_due(), self.manager.next_due())
        return min((due for due in dues if due is not None), default=None)

    def _idle_at(self, head: int) -> bool:
        return self._caught_up_with(head) and not self.manager.in_flight()

    def _caught_up_with(self, head: int) -> bool:
        """Return whether everybody has read up to *head* and nobody is due."""
        due = self._next_due()
        return (
            self.views.position >= head
            and self.manager.at_rest(head)
            and (due is None or due > self.clock.now())
        )
