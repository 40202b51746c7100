"""Drives every lookup from its start to the last settlement.

It follows the log's tail, timers that are due and the silence of stages; what stages answer
is recorded elsewhere (`cs.pipeline.outcomes`) and reaches it through the log.  It holds no
truth: what it remembers is made anew at its start.  One is meant to lead at a time, to
spare work, but several do no harm: the expected version of a stream is the referee, and the
domain answers anything recorded twice with no events.

A stream that cannot be read is set aside, and taken up again once it is mended; nobody else
waits for it.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime

from structlog import get_logger

from cs.domain import mail_domain
from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    AttemptFailed,
    ContactsErased,
    LookupFinished,
    LookupStarted,
    MailDomainChecked,
    PassDeadline,
    Restart,
    RetryDue,
    StageIssued,
)
from cs.domain.causation import AnyCause, EventCause, StartCause, TimerCause
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.stages.table import closed_work
from cs.eventlog.damage import events_since
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.follow import follow, retry_while_unavailable
from cs.eventlog.open_work import OpenWork
from cs.eventlog.port import NOBODY, RecordedEvent
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.pipeline.heartbeats import SILENCE_S, Heartbeats
from cs.pipeline.in_flight import AttemptId, InFlightWork
from cs.pipeline.lookups import Lookups
from cs.pipeline.settlement import SearchSettler
from cs.pipeline.silence import SILENCE_CHECK_S, Silence
from cs.pipeline.timers import Timers
from cs.runtime import failpoints
from cs.runtime.cancellation import run_cancellable
from cs.runtime.clock import Clock
from cs.runtime.error_groups import leaf_errors

log = get_logger()


#: What the driver remembers of a stream, besides its folded state.
_REMEMBERED = (LookupStarted, LookupFinished, ContactsErased, SearchAdmitted, SearchSettled)


class Driver:
    """Leads from `run` until that is cancelled, once; to lead again make another.

    Args:
        restart_work: Issue all open work again at the start: true where the bus forgets
            everything with the process.
        real: Measures a stage's silence, if not *clock* does (`cs.pipeline.silence`).
        silence_s: Work without a heartbeat for so long is issued again.
        silence_check_s: How often such work is looked for.
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
    ) -> None:
        self._metrics = metrics or Metrics()
        real = real or clock
        self._streams = streams
        self._set_aside = streams.set_aside
        self._open_work = open_work
        self._clock = clock
        self._restart_work = restart_work
        self._lookups = Lookups(streams, clock)
        self._settler = SearchSettler(streams, self._lookups, clock)
        self._timers = Timers(clock)
        self._in_flight = InFlightWork(real.monotonic)
        self._silence = Silence(
            self._lookups,
            self._in_flight,
            heartbeats,
            clock,
            real,
            set_aside=streams.set_aside,
            after_s=silence_s,
            check_s=silence_check_s,
        )
        self._open: set[str] = set()
        self._firing = False
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
        with self._set_aside.on_mended(self._resume_mended):
            position = await self._sweep()
            metrics = self._metrics
            async with AsyncExitStack() as stack:
                done_to = metrics.follower_position.measured(
                    lambda: self._position or position, "driver"
                )
                stack.enter_context(done_to)
                stack.enter_context(metrics.lookups_open.measured(lambda: len(self._open)))
                tasks = await stack.enter_async_context(asyncio.TaskGroup())
                tasks.create_task(self._follow_log(position), name="driver-log")
                tasks.create_task(self._follow_timers(), name="driver-timers")
                tasks.create_task(self._silence.watch(), name="driver-silence")

    def in_flight(self) -> frozenset[AttemptId]:
        """Return the work that was issued and is not answered yet."""
        return self._in_flight.attempts()

    def at_rest(self, head: int) -> bool:
        """Return whether all up to *head* is noted and no timer is due."""
        if self._position is None or self._position < head:
            return False
        return not self._firing and not self._timers.is_due()

    def next_due(self) -> datetime | None:
        """Return when the first timer is due."""
        return self._timers.earliest()

    # The start.

    async def _sweep(self) -> int:
        """Take up what was unfinished when the last driver ended."""
        unfinished = await retry_while_unavailable(self._open_work.unfinished)
        for damaged in unfinished.set_aside:
            self._set_aside.note(damaged)
        for search in unfinished.searches:
            self._settler.add_waiting(search.search, search.key_id, search.lookup)
        self._open.update(unfinished.lookups)
        for lookup in list(self._open):
            restarted_by = StartCause() if self._restart_work else None
            await self._or_set_aside(self._resume(lookup, restarted_by))
        for lookup in self._settler.lookups():
            if lookup not in self._open:
                failpoints.reach("sweep.before-settlement")
                await self._or_set_aside(self._settler.settle_all(lookup, StartCause()))
        return unfinished.position

    async def _or_set_aside(self, work: Awaitable[None]) -> None:
        """Do *work*; a stream that cannot be read for it is left for when it is mended."""
        try:
            await work
        except DamagedEvent as damaged:
            self._set_aside.note(damaged)

    async def _resume_mended(self, damaged: DamagedEvent) -> None:
        """Do what was passed over while the stream of *damaged* could not be read.

        Raises:
            DamagedEvent, LogUnavailable: It still cannot be.
        """
        stream, mended = damaged.stream, TimerCause(timer="mended")
        async for page in events_since(self._streams.log, damaged):
            for recorded in page:
                stream = recorded.stream
                if isinstance(recorded.event, _REMEMBERED):
                    await self._note(recorded)
        for lookup in [each for each in self._open if stream_of(each) == stream]:
            await self._resume(lookup, mended)
        waited_for = {each for each in self._settler.lookups() if stream_of(each) == stream}
        waited_for.update(self._settler.lookups_of_key(stream.removeprefix("key-")))
        for lookup in waited_for:
            await self._settler.settle_all(lookup, mended)

    async def _resume(self, lookup: str, restarted_by: AnyCause | None) -> None:
        """Take *lookup* up again; with *restarted_by* its work in flight is issued again."""
        live = (await self._lookups.brand(lookup)).live
        if live is None or live.id != lookup:
            return  # finished since; its event comes with the tail
        self._timers.set(live.deadline_at, lookup)
        for work in live.open:
            if work.retry_at is not None:
                self._timers.set(work.retry_at, lookup)
            else:
                # Where leaders come and go faster than silence is noticed, it counts on.
                ago_s = 0.0 if restarted_by else self._since(work.issued_at)
                self._in_flight.issued(lookup, work.stage, work.item, work.attempt, ago_s)
        if restarted_by is not None:
            known = await self._lookups.known(lookup)
            at = self._clock.now()
            failpoints.reach("sweep.before-restart")
            await self._lookups.change(Restart(lookup=lookup, known=known, at=at), restarted_by)
            failpoints.reach("sweep.after-restart")

    def _since(self, issued_at: datetime | None) -> float:
        return (self._clock.now() - issued_at).total_seconds() if issued_at else 0.0

    # The tail of the log.

    async def _follow_log(self, position: int) -> None:
        self._position = position
        pages = follow(self._streams.log, position, set_aside=self._set_aside, wanted=NOBODY)
        async for page in pages:
            for recorded in page:
                await self._or_set_aside(self._note(recorded))
            await self._settle_late(page)
            self._position = page[-1].position

    async def _note(self, recorded: RecordedEvent) -> None:
        closed = closed_work(recorded.event)
        if closed is not None:
            self._in_flight.answered(closed.lookup, closed.stage, closed.item)
        match recorded.event:
            case LookupStarted(lookup=lookup, deadline_at=deadline_at):
                self._open.add(lookup)
                self._timers.set(deadline_at, lookup)
            case StageIssued(lookup=lookup, stage=stage, item=item, attempt=attempt):
                self._in_flight.issued(lookup, stage, item, attempt)
            case AttemptFailed(lookup=lookup, stage=stage, item=item, retry_at=retry_at):
                self._in_flight.answered(lookup, stage, item)
                if retry_at is not None:
                    self._timers.set(retry_at, lookup)
            case MailDomainChecked(mail_domain=domain, learned=learned):
                await self._learn(domain, learned, EventCause(position=recorded.position))
            case LookupFinished(lookup=lookup, outcome=outcome, verified=verified):
                self._open.discard(lookup)
                self._in_flight.finished(lookup)
                log.info("lookup_finished", lookup=lookup, outcome=outcome, verified=verified)
                finish = EventCause(position=recorded.position)
                await self._settler.settle_all(lookup, finish)
            case ContactsErased(lookup=lookup):
                await self._lookups.brand(lookup)  # its state in memory has them in clear
            case SearchAdmitted(search=search, lookup=lookup):
                self._settler.add_waiting(search, recorded.stream.removeprefix("key-"), lookup)
            case SearchSettled(search=search, lookup=lookup):
                self._settler.remove_waiting(search, lookup)
            case _:
                pass

    async def _settle_late(self, page: Sequence[RecordedEvent]) -> None:
        """Settle searches that joined a lookup just after its finish was stored."""
        for recorded in page:
            if isinstance(recorded.event, SearchAdmitted):
                lookup = recorded.event.lookup
                if lookup not in self._open:
                    joined = EventCause(position=recorded.position)
                    await self._or_set_aside(self._settler.settle_all(lookup, joined))

    async def _learn(self, domain: str, learned: DomainFacts, caused_by: AnyCause) -> None:
        command = mail_domain.LearnDomain(facts=learned, at=self._clock.now())
        failpoints.reach("learning.before-append")
        try:
            await self._streams.change(
                f"mail-domain-{domain}",
                lambda state: mail_domain.decide(command, state),
                caused_by=caused_by,
            )
        except LogUnavailable as error:  # or a newer version's, who learns for itself
            log.warning("mail_domain_not_learned", why=str(error))  # only costs a probe
        failpoints.reach("learning.after-append")

    # Timers.

    async def _follow_timers(self) -> None:
        while True:
            when, lookup = await self._timers.next()
            if lookup in self._open:
                self._firing = True
                await self._or_set_aside(self._fire(when, lookup))
                self._firing = False

    async def _fire(self, when: datetime, lookup: str) -> None:
        at = max(when, self._clock.now())
        retry = RetryDue(lookup=lookup, known=await self._lookups.known(lookup), at=at)
        failpoints.reach("timer.before-deadline")
        await self._lookups.change(
            PassDeadline(lookup=lookup, at=at), TimerCause(timer="deadline")
        )
        failpoints.reach("timer.before-retry")
        await self._lookups.change(retry, TimerCause(timer="retry"))
        failpoints.reach("timer.after-retry")
