"""Takes up what nobody drove: all that is unfinished at a start, and a stream once mended."""

from datetime import datetime

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import Restart
from cs.domain.causation import AnyCause, StartCause, TimerCause
from cs.eventlog.damage import events_since
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.open_work import OpenWork
from cs.eventlog.streams import Streams
from cs.pipeline.driver_notes import REMEMBERED, DriverNotes
from cs.pipeline.side_by_side import do_side_by_side
from cs.runtime import failpoints
from cs.runtime.clock import Clock


class Resumption:
    """Puts into *notes* what they lack, and does what was left undone."""

    def __init__(
        self, streams: Streams, open_work: OpenWork, notes: DriverNotes, clock: Clock
    ) -> None:
        self._streams = streams
        self._open_work = open_work
        self._notes = notes
        self._clock = clock

    async def take_up_all(self, *, restart_work: bool) -> int:
        """Take up what was unfinished when the last driver ended.

        Args:
            restart_work: Issue all open work again.

        Returns:
            The position from which on events are to be noted.
        """
        unfinished = await retry_while_unavailable(self._open_work.unfinished)
        for damaged in unfinished.set_aside:
            self._streams.set_aside.note(damaged)
        notes, settler = self._notes, self._notes.settler
        for search in unfinished.searches:
            settler.add_waiting(search.search, search.key_id, search.lookup)
        notes.open.update(unfinished.lookups)
        restarted_by = StartCause() if restart_work else None

        async def resume(lookup: str) -> None:
            await self._resume(lookup, restarted_by)

        async def settle(lookup: str) -> None:
            failpoints.reach("sweep.before-settlement")
            await settler.settle_all(lookup, StartCause())

        await do_side_by_side(resume, list(notes.open), self._streams.set_aside)
        ended = [each for each in settler.lookups() if each not in notes.open]
        await do_side_by_side(settle, ended, self._streams.set_aside)
        return unfinished.position

    async def take_up_mended(self, damaged: DamagedEvent) -> None:
        """Do what was passed over while the stream of *damaged* could not be read.

        Raises:
            DamagedEvent, LogUnavailable: It still cannot be.
        """
        stream, mended = damaged.stream, TimerCause(timer="mended")
        async for page in events_since(self._streams.log, damaged):
            for recorded in page:
                stream = recorded.stream
                if isinstance(recorded.event, REMEMBERED):
                    follow_up = self._notes.note(recorded)
                    if follow_up is not None:
                        await follow_up.do()
        for lookup in [each for each in self._notes.open if stream_of(each) == stream]:
            await self._resume(lookup, mended)
        settler = self._notes.settler
        waited_for = {each for each in settler.lookups() if stream_of(each) == stream}
        waited_for.update(settler.lookups_of_key(stream.removeprefix("key-")))
        for lookup in waited_for:
            await settler.settle_all(lookup, mended)

    async def _resume(self, lookup: str, restarted_by: AnyCause | None) -> None:
        """Take *lookup* up again; with *restarted_by* its work in flight is issued again."""
        notes = self._notes
        live = (await notes.lookups.brand(lookup)).live
        if live is None or live.id != lookup:
            return  # finished since; its event comes with the tail
        now = self._clock.now()
        notes.timers.set(now if live.is_from_future(now) else live.deadline_at, lookup)
        for work in live.open:
            if work.retry_at is not None:
                notes.timers.set(work.retry_at, lookup)
            else:
                # Where leaders come and go faster than silence is noticed, it counts on.
                ago_s = 0.0 if restarted_by else self._since(work.issued_at)
                notes.in_flight.issued(lookup, work.stage, work.item, work.attempt, ago_s)
        if restarted_by is not None:
            known = await notes.lookups.known(lookup)
            at = self._clock.now()
            failpoints.reach("sweep.before-restart")
            await notes.lookups.change(Restart(lookup=lookup, known=known, at=at), restarted_by)
            failpoints.reach("sweep.after-restart")

    def _since(self, issued_at: datetime | None) -> float:
        return (self._clock.now() - issued_at).total_seconds() if issued_at else 0.0
