"""Drives every lookup from its start to the last settlement.

It follows the log's tail, timers that are due and the silence of stages; what stages answer
is recorded elsewhere (`cs.pipeline.outcomes`) and reaches it through the log.  It holds no
truth: what it remembers is made anew at its start.  One is meant to lead at a time, to
spare work, but several do no harm: the expected version of a stream is the referee, and the
domain answers anything recorded twice with no events.

What is remembered of an event is noted as the log tells it.  What takes time (to settle, to
learn, to read) is done side by side, so that the log stores it together; that of one lookup
stays in order, and so does that of one mail domain, for whose facts no search waits.

A stream that cannot be read is set aside, and taken up again once it is mended; nobody else
waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from typing import NamedTuple, TypeVar

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
from cs.pipeline.lanes import Lanes, save_position_while
from cs.pipeline.lookups import Lookups
from cs.pipeline.settlement import SearchSettler
from cs.pipeline.silence import SILENCE_CHECK_S, Silence
from cs.pipeline.timers import Timers
from cs.runtime import failpoints
from cs.runtime.cancellation import run_cancellable
from cs.runtime.clock import Clock
from cs.runtime.error_groups import leaf_errors

log = get_logger()

T = TypeVar("T")

#: Lookups and mail domains that something is done for at the same time.
AT_ONCE = 64
#: Followed events that something is still to be done for; with more the log is read no further.
WAITING = 1_000

#: What the driver remembers of a stream, besides its folded state.
_REMEMBERED = (LookupStarted, LookupFinished, ContactsErased, SearchAdmitted, SearchSettled)


class FollowUp(NamedTuple):
    """What an event wants done.

    Attributes:
        order: What it keeps its order with: a lookup, or a mail domain.
        do: Does it.
    """

    order: tuple[str, str]
    do: Callable[[], Awaitable[None]]


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
        self._settler = SearchSettler(streams, self._lookups, clock, self._metrics.traces)
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
        restarted_by = StartCause() if self._restart_work else None

        async def resume(lookup: str) -> None:
            await self._resume(lookup, restarted_by)

        async def settle(lookup: str) -> None:
            failpoints.reach("sweep.before-settlement")
            await self._settler.settle_all(lookup, StartCause())

        await self._side_by_side(resume, list(self._open))
        ended = [each for each in self._settler.lookups() if each not in self._open]
        await self._side_by_side(settle, ended)
        return unfinished.position

    async def _side_by_side(
        self, work: Callable[[T], Awaitable[None]], items: Iterable[T]
    ) -> None:
        """Do *work* with each of *items*, `AT_ONCE` at a time; each is set aside alone."""
        left = iter(items)

        async def take() -> None:
            for item in left:
                await self._or_set_aside(work(item))

        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(take())

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
                    follow_up = self._note(recorded)
                    if follow_up is not None:
                        await follow_up.do()
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
        pages = follow(self._streams.log, position, set_aside=self._set_aside, wanted=NOBODY)

        async def do(follow_up: FollowUp) -> None:
            await self._or_set_aside(follow_up.do())

        async def save_position(done: int) -> None:
            self._position = done

        async with Lanes(do, after=position, capacity=WAITING, at_once=AT_ONCE) as lanes:

            async def read() -> None:
                async for page in pages:
                    for recorded, follow_up in self._noted(page):
                        await lanes.put(follow_up.order, recorded.position, follow_up)
                    lanes.read_to(page[-1].position)

            self._position = position
            await save_position_while(read(), lanes, position, save_position)

    def _noted(self, page: Sequence[RecordedEvent]) -> Sequence[tuple[RecordedEvent, FollowUp]]:
        """Note all of *page*; return what is to be done for which of its events."""
        wanted = []
        to_start = {each.event.lookup for each in page if isinstance(each.event, LookupStarted)}
        for recorded in page:
            follow_up = self._note(recorded)
            if isinstance(recorded.event, LookupStarted):
                to_start.discard(recorded.event.lookup)
            elif isinstance(recorded.event, SearchAdmitted):
                lookup = recorded.event.lookup
                if lookup not in self._open and lookup not in to_start:
                    # It joined just after the finish was stored.
                    follow_up = self._settlement(lookup, recorded.position)
            if follow_up is not None:
                wanted.append((recorded, follow_up))
        return wanted

    def _note(self, recorded: RecordedEvent) -> FollowUp | None:
        """Remember what *recorded* says; return what is to be done for it."""
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
                caused_by = EventCause(position=recorded.position)
                learn = partial(self._learn, domain, learned, caused_by)
                return FollowUp(("mail-domain", domain), learn)
            case LookupFinished(lookup=lookup, outcome=outcome, verified=verified):
                self._open.discard(lookup)
                self._in_flight.finished(lookup)
                log.info("lookup_finished", lookup=lookup, outcome=outcome, verified=verified)
                return self._settlement(lookup, recorded.position)
            case ContactsErased(lookup=lookup):
                # Its state in memory has them in clear.
                return FollowUp(("lookup", lookup), partial(self._read_anew, lookup))
            case SearchAdmitted(search=search, lookup=lookup):
                self._settler.add_waiting(search, recorded.stream.removeprefix("key-"), lookup)
            case SearchSettled(search=search, lookup=lookup):
                self._settler.remove_waiting(search, lookup)
            case _:
                pass
        return None

    def _settlement(self, lookup: str, position: int) -> FollowUp:
        """Return how those are settled who wait for *lookup* as far as is noted.

        Because of the event at *position*.
        """
        caused_by, waiting = EventCause(position=position), self._settler.waiting(lookup)
        settle = partial(self._settler.settle, lookup, waiting, caused_by)
        return FollowUp(("lookup", lookup), settle)

    async def _read_anew(self, lookup: str) -> None:
        await self._lookups.brand(lookup)

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
            due = [await self._timers.next(), *self._timers.pop_due()]
            self._firing = True
            times: dict[str, list[datetime]] = {}
            for when, lookup in due:
                times.setdefault(lookup, []).append(when)
            await self._side_by_side(self._fire_each, times.items())
            self._firing = False

    async def _fire_each(self, due: tuple[str, Sequence[datetime]]) -> None:
        lookup, times = due
        for when in times:
            if lookup in self._open:
                await self._fire(when, lookup)

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
