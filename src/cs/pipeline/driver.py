"""Drives every lookup from its start to the last settlement.

It follows the log's tail, timers that are due and the silence of stages; what stages answer
is recorded elsewhere (`cs.pipeline.outcomes`) and reaches it through the log.  It holds no
truth: what it remembers is made anew at its start.  One is meant to lead at a time, to
spare work, but several do no harm: the expected version of a stream
is the referee, and the domain answers anything recorded twice with no events.

What is remembered of an event is noted as the log tells it.  What takes time (to settle, to
learn, to read) is done side by side, so that the log stores it together; that of one lookup
stays in order, and so does that of one mail domain, for whose facts no search waits.

A stream that cannot be read is set aside, and taken up again once it is mended; nobody else
waits for it.
"""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime

from cs.eventlog.errors import NewerEvent
from cs.eventlog.follow import follow
from cs.eventlog.open_work import OpenWork
from cs.eventlog.port import NOBODY
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.pipeline.driver_notes import DriverNotes, FollowUp
from cs.pipeline.due_timers import DueTimers
from cs.pipeline.heartbeats import SILENCE_S, Heartbeats
from cs.pipeline.in_flight import AttemptId
from cs.pipeline.lanes import Lanes, save_position_while
from cs.pipeline.refuted import RefutedMailboxes
from cs.pipeline.resumption import Resumption
from cs.pipeline.side_by_side import AT_ONCE, do_or_set_aside
from cs.pipeline.silence import SILENCE_CHECK_S, Silence
from cs.runtime.cancellation import run_cancellable
from cs.runtime.clock import Clock
from cs.runtime.error_groups import leaf_errors

#: Followed events that something is still to be done for; with more the log is read no further.
WAITING = 1_000


class Driver:
    """Leads from `run` until that is cancelled, once; to lead again make another.

    Args:
        restart_work: Issue all open work again at the start: true where the bus forgets
            everything with the process.
        real: Measures a stage's silence, if not *clock* does (`cs.pipeline.silence`).
        silence_s: Work without a heartbeat for so long is issued again.
        silence_check_s: How often such work is looked for.
        refuted: Knows from which mailboxes mail came back; without it from none.
        metrics: Where it says how far it is, and how many lookups run.
    """

    def __init__(
        self,
        streams: Streams,
        open_work: OpenWork,
        clock: Clock,
        heartbeats: Heartbeats,
        *,
        restart_work: bool,
        real: Clock | None = None,
        silence_s: float = SILENCE_S,
        silence_check_s: float = SILENCE_CHECK_S,
        metrics: Metrics | None = None,
        refuted: RefutedMailboxes | None = None,
    ) -> None:
        self._metrics = metrics or Metrics()
        real = real or clock
        self._streams = streams
        self._set_aside = streams.set_aside
        self._restart_work = restart_work
        self._notes = DriverNotes(streams, clock, real, self._metrics.traces, refuted=refuted)
        self._resumption = Resumption(streams, open_work, self._notes, clock)
        self._due_timers = DueTimers(self._notes, clock, streams.set_aside)
        self._silence = Silence(
            self._notes.lookups,
            self._notes.in_flight,
            heartbeats,
            clock,
            real,
            set_aside=streams.set_aside,
            after_s=silence_s,
            check_s=silence_check_s,
        )
        self._position: int | None = None  # noted up to here, settlements done

    async def run(self) -> None:
        """Drive for ever.

        Raises:
            NewerEvent: A newer version wrote what is to be decided on next: that one is to
                drive.  This one may be made again later.
        """
        newer: NewerEvent | None = None
        try:
            await run_cancellable(self._run())
        except* NewerEvent as group:
            newer = next(leaf_errors(group))
        if newer is not None:
            raise newer

    async def _run(self) -> None:
        with self._set_aside.on_mended(self._resumption.take_up_mended):
            position = await self._resumption.take_up_all(restart_work=self._restart_work)
            metrics = self._metrics
            async with AsyncExitStack() as stack:
                done_to = metrics.follower_position.measured(
                    lambda: self._position or position, "driver"
                )
                stack.enter_context(done_to)
                lookups_open = metrics.lookups_open.added(lambda: len(self._notes.open))
                stack.enter_context(lookups_open)
                tasks = await stack.enter_async_context(asyncio.TaskGroup())
                tasks.create_task(self._follow_log(position), name="driver-log")
                tasks.create_task(self._due_timers.fire_for_ever(), name="driver-timers")
                tasks.create_task(self._silence.watch(), name="driver-silence")

    def in_flight(self) -> frozenset[AttemptId]:
        """Return the work that was issued and is not answered yet."""
        return self._notes.in_flight.attempts()

    def at_rest(self, head: int) -> bool:
        """Return whether all up to *head* is noted and no timer is due."""
        if self._position is None or self._position < head:
            return False
        return self._due_timers.at_rest()

    def next_due(self) -> datetime | None:
        """Return when the first timer is due."""
        return self._notes.timers.earliest()

    async def _follow_log(self, position: int) -> None:
        pages = follow(self._streams.log, position, set_aside=self._set_aside, wanted=NOBODY)

        async def do(follow_up: FollowUp) -> None:
            await do_or_set_aside(follow_up.do(), self._set_aside)

        async def save_position(done: int) -> None:
            self._position = done

        async with Lanes(do, after=position, capacity=WAITING, at_once=AT_ONCE) as lanes:

            async def read() -> None:
                async for page in pages:
                    for recorded, follow_up in self._notes.note_page(page):
                        await lanes.put(follow_up.order, recorded.position, follow_up)
                    lanes.read_to(page[-1].position)

            self._position = position
            await save_position_while(read(), lanes, position, save_position)
