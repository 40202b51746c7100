"""Issues work again that is silent: its message, or its answer, is lost."""

from datetime import timedelta

from structlog import get_logger

from cs.domain.brand.events import ReissueSilent
from cs.domain.causation import TimerCause
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.errors import DamagedEvent
from cs.pipeline.heartbeats import SILENCE_S, Heartbeats
from cs.pipeline.in_flight import Attempt, InFlightWork
from cs.pipeline.lookups import Lookups
from cs.runtime.clock import Clock

log = get_logger()

SILENCE_CHECK_S = 1.0


class Silence:
    """Watches *in_flight* for ever; cancel `watch` to stop.

    Args:
        set_aside: Takes note of lookups that cannot be read.
        real: Measures silence: real time, also where the service's clock may be moved,
            since no work gets done by that.
        after_s: Issue work again that had no heartbeat for so long.
        check_s: Look for such work this often.
    """

    def __init__(
        self,
        lookups: Lookups,
        in_flight: InFlightWork,
        heartbeats: Heartbeats,
        clock: Clock,
        real: Clock,
        *,
        set_aside: DamagedStreams,
        after_s: float = SILENCE_S,
        check_s: float = SILENCE_CHECK_S,
    ) -> None:
        self._lookups = lookups
        self._in_flight = in_flight
        self._heartbeats = heartbeats
        self._clock = clock
        self._real = real
        self._set_aside = set_aside
        self._after_s = after_s
        self._check = timedelta(seconds=check_s)

    async def watch(self) -> None:
        while True:
            await self._real.sleep_until(self._real.now() + self._check)
            for attempt in self._in_flight.silent(self._after_s):
                try:
                    await self._ask_after(attempt)
                except DamagedEvent as damaged:
                    self._set_aside.note(damaged)

    async def _ask_after(self, attempt: Attempt) -> None:
        """Issue the work of *attempt* again unless a heartbeat of it came."""
        ago_s = await self._heartbeats.silent_for(
            attempt.lookup, attempt.stage, attempt.item, attempt.attempt
        )
        if ago_s is not None and ago_s <= self._after_s:
            self._in_flight.seen_alive(attempt, ago_s)
            return
        log.warning(
            "stage_silent", lookup=attempt.lookup, stage=attempt.stage, attempt=attempt.attempt
        )
        again = ReissueSilent(
            lookup=attempt.lookup,
            stage=attempt.stage,
            item=attempt.item,
            attempt=attempt.attempt,
            known=await self._lookups.known(attempt.lookup),
            at=self._clock.now(),
        )
        await self._lookups.change(again, TimerCause(timer="silence"))
