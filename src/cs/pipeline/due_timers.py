"""Does what a lookup's timers are for: its deadline passes, its failed work is tried again."""

from collections.abc import Sequence
from datetime import datetime

from cs.domain.brand.events import PassDeadline, RetryDue
from cs.domain.causation import TimerCause
from cs.eventlog.damage import DamagedStreams
from cs.pipeline.driver_notes import DriverNotes
from cs.pipeline.side_by_side import do_side_by_side
from cs.runtime import failpoints
from cs.runtime.clock import Clock


class DueTimers:
    """Fires the timers of *notes*, all that are due together; of one lookup in order."""

    def __init__(self, notes: DriverNotes, clock: Clock, set_aside: DamagedStreams) -> None:
        self._notes = notes
        self._clock = clock
        self._set_aside = set_aside
        self._firing = False

    async def fire_for_ever(self) -> None:
        """Fire each when it is due; cancel this to stop."""
        timers = self._notes.timers
        while True:
            due = [await timers.next(), *timers.pop_due()]
            self._firing = True
            times: dict[str, list[datetime]] = {}
            for when, lookup in due:
                times.setdefault(lookup, []).append(when)
            await do_side_by_side(self._fire_each, times.items(), self._set_aside)
            self._firing = False

    def at_rest(self) -> bool:
        """Return whether none is due or firing."""
        return not self._firing and not self._notes.timers.is_due()

    async def _fire_each(self, due: tuple[str, Sequence[datetime]]) -> None:
        lookup, times = due
        for when in times:
            if lookup in self._notes.open:
                await self._fire(when, lookup)

    async def _fire(self, when: datetime, lookup: str) -> None:
        at, lookups = max(when, self._clock.now()), self._notes.lookups
        retry = RetryDue(lookup=lookup, known=await lookups.known(lookup), at=at)
        failpoints.reach("timer.before-deadline")
        await lookups.change(PassDeadline(lookup=lookup, at=at), TimerCause(timer="deadline"))
        failpoints.reach("timer.before-retry")
        await lookups.change(retry, TimerCause(timer="retry"))
        failpoints.reach("timer.after-retry")
