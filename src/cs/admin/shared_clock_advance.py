"""Moving the clock of a sandbox whose roles are several processes.

Nobody knows all due times there.  While lookups run, time goes on in steps, and after each
the log has to come to rest; otherwise at once.
"""

import asyncio
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cs.admin.sandbox_clock import SandboxClock
from cs.eventlog.port import EventLog
from cs.projections.follower import Follower
from cs.projections.reading import Reading

#: What is due in it happens at most this much late.
STEP = timedelta(seconds=5)
#: Looks in a row that found no new event, after which the log is at rest: 0.4 s, and as
#: much more as the machine is slower, for then the work in hand is slower too.
QUIET_LOOKS = 20
LOOK_S = 0.02
#: Real time that the work of one step gets at most.
REST_S = 20.0


@dataclass
class SharedClockAdvancer:
    """Moves *clock* on for one caller at a time, in the order they call."""

    clock: SandboxClock
    events: EventLog
    views: Follower
    reading: Reading
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def advance(self, by: timedelta) -> datetime:
        """Let *by* go by, and what is due in it happen; return the time it is then.

        Raises:
            ValueError: The clock cannot be moved so far.
            DatabaseUnavailable: The clock's offset may not be stored.
        """
        async with self._lock:
            target = self.clock.now() + by
            if target > self.clock.furthest():
                raise ValueError(f"{target} is after {self.clock.furthest()}")
            await self._rest()
            while (now := self.clock.now()) < target:
                running = (await self.reading.unfinished()).lookups
                await self.clock.move_to(min(target, now + STEP) if running else target)
                await self._rest()
            return self.clock.now()

    async def _rest(self) -> None:
        give_up = time.monotonic() + REST_S
        head, quiet = -1, 0
        while time.monotonic() < give_up:
            found = await self.events.head()
            quiet = quiet + 1 if found == head else 0
            head = found
            if quiet >= QUIET_LOOKS and self.views.position >= head:
                return
            await asyncio.sleep(LOOK_S)
