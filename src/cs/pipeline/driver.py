"""Drives every lookup from its start to the last settlement.

It follows the log's tail, timers that are due and the silence of stages; what stages answer
is recorded elsewhere (`cs.pipeline.outcomes`) and reaches it through the log.  It holds no
truth: its schedule is rebuilt when it begins to lead.  One is meant to lead at a time, to
spare work, but several do no harm: the expected version of a stream is the referee, and the
domain answers anything recorded twice with no events.

What takes time (to settle, to learn, to read) is done side by side, so that the log stores it
together; that of one lookup stays in order, and so does that of one mail domain, for whose
facts no search waits.

A stream that cannot be read is set aside, and resumed once it is mended; no other stream
waits for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple, TypeVar

from structlog import get_logger

from cs.bus.headers import root_place
from cs.domain import key, mail_domain
from cs.domain.brand.brand import Finish, stream_of
from cs.domain.brand.events import (
    LookupFinished,
    MailDomainChecked,
    PassDeadline,
    ReissueSilent,
    Restart,
    RetryDue,
)
from cs.domain.causation import AnyCause, EventCause, StartCause, TimerCause
from cs.domain.key import Key, SearchAdmitted, SettleSearch
from cs.domain.mail.mailbox import DomainFacts
from cs.eventlog.fingerprints import Fingerprinter
from cs.eventlog.follow import follow, retry_while_unavailable
from cs.eventlog.open_work import OpenWork
from cs.eventlog.port import NOBODY, DamagedEvent, LogUnavailable, NewerEvent, RecordedEvent
from cs.eventlog.streams import Streams
from cs.metrics.metrics import Metrics
from cs.pipeline.heartbeats import SILENCE_S, Heartbeats
from cs.pipeline.lanes import Lanes
from cs.pipeline.lookups import Lookups, with_damage_check
from cs.pipeline.schedule import Attempt, AttemptId, Schedule
from cs.runtime import failpoints
from cs.runtime.clock import Clock
from cs.runtime.coordination import leaf_errors, run_cancellable

log = get_logger()

T = TypeVar("T")

#: Followed events that something is still to be done for; with more the log is read no further.
WAITING = 1_000
#: Lookups and mail domains that something is done for at the same time.
AT_ONCE = 64
#: How often silent work is looked for.
SILENCE_CHECK = timedelta(seconds=1)


class FollowUp(NamedTuple):
    """Work that an event of the log leads to.

    Attributes:
        order: What it keeps its order with: a lookup, or a mail domain.
        position: Of the event.
    """

    order: str
    position: int
    do: Callable[[], Awaitable[None]]


class Driver:
    """Leads from `run` until that is cancelled; it may lead again later.

    Args:
        restart_work: Issue all open work again at the first start: true where the bus forgets
            everything with the process.
        real: Measures a stage's silence, if not *clock* does: real time, also where the
            service's clock may be moved, since no work gets done by that.
        keys: Show from which mailboxes mail came back; without them it came back from none.
        metrics: Reports how far it is, and how many lookups run.
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
        metrics: Metrics | None = None,
        keys: Fingerprinter | None = None,
    ) -> None:
        self._metrics = metrics or Metrics()
        self._streams = streams
        self._open_work = open_work
        self._clock = clock
        self._heartbeats = heartbeats
        self._restart_work = restart_work
        self._real = real or clock
        self._lookups = Lookups(streams, clock, keys)
        self._schedule = Schedule(clock, self._real.monotonic)
        self._lanes: Lanes[Callable[[], Awaitable[None]]] | None = None
        self._firing = False

    async def run(self) -> None:
        """Drive for ever.

        Raises:
            NewerEvent: A newer version wrote what is to be decided on next: that one is to
                drive.
        """
        newer: NewerEvent | None = None
        try:
            await run_cancellable(self._run())
        except* NewerEvent as group:
            newer = next(leaf_errors(group))
        if newer is not None:
            raise newer

    async def _run(self) -> None:
        self._schedule = Schedule(self._clock, self._real.monotonic)
        self._lanes, self._firing = None, False
        with self._streams.set_aside.on_mended(self._resume_mended):
            position = await self._resume_all()
            lanes = self._lanes = Lanes(
                self._follow_up, after=position, capacity=WAITING, at_once=AT_ONCE
            )
            metrics = self._metrics
            with (
                metrics.follower_position.measured(lambda: lanes.position, "driver"),
                metrics.lookups_open.measured(lambda: len(self._schedule.running)),
            ):
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self._follow_log(lanes), name="driver-log")
                    tasks.create_task(self._fire_timers(), name="driver-timers")
                    tasks.create_task(self._watch_silence(), name="driver-silence")

    def in_flight(self) -> frozenset[AttemptId]:
        """Return the work that was issued and is not answered yet."""
        return self._schedule.in_flight()

    def at_rest(self, head: int) -> bool:
        """Return whether all up to *head* is noted and no timer is due."""
        if self._lanes is None or self._lanes.position < head:
            return False
        return not self._firing and not self._schedule.is_due()

    def next_due(self) -> datetime | None:
        """Return when the first timer is due."""
        return self._schedule.next_due()

    # The log's tail.

    async def _follow_log(self, lanes: Lanes[Callable[[], Awaitable[None]]]) -> None:
        set_aside = self._streams.set_aside
        pages = follow(self._streams.log, lanes.position, set_aside=set_aside, wanted=NOBODY)
        await lanes.run((self._note(page), page[-1].position) async for page in pages)

    async def _follow_up(self, do: Callable[[], Awaitable[None]]) -> None:
        with self._setting_aside():
            await do()

    def _note(self, page: Sequence[RecordedEvent]) -> Sequence[FollowUp]:
        """Note all of *page* at once; return what its events lead to, in order."""
        schedule, found, joined = self._schedule, list[FollowUp](), dict[str, int]()
        for recorded in page:
            schedule.note(recorded)
            position = recorded.position
            match recorded.event:
                case LookupFinished(lookup=lookup, outcome=outcome, verified=verified):
                    log.info(
                        "lookup_finished", lookup=lookup, outcome=outcome, verified=verified
                    )
                    found.append(self._settlement(lookup, position))
                    joined.pop(lookup, None)
                case SearchAdmitted(lookup=lookup):
                    joined[lookup] = position
                case MailDomainChecked(mail_domain=domain, learned=learned):
                    learn = partial(self._learn, domain, learned, EventCause(position=position))
                    found.append(FollowUp(f"mail-domain {domain}", position, learn))
                case _:
                    pass
        late = [  # they joined just after the finish was stored
            self._settlement(lookup, position)
            for lookup, position in joined.items()
            if lookup not in schedule.running and schedule.waiting(lookup)
        ]
        return sorted([*found, *late], key=lambda each: each.position) if late else found

    def _settlement(self, lookup: str, position: int) -> FollowUp:
        caused_by = EventCause(position=position)
        return FollowUp(f"lookup {lookup}", position, partial(self._settle, lookup, caused_by))

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

    # Settlement: an append of its own to each key's stream, outcome and charge in one event.

    async def _settle(self, lookup: str, caused_by: AnyCause) -> None:
        """Settle the searches that wait for *lookup*, unless it runs.

        All at once, so that the log stores them together.  A search whose key cannot be read
        waits on; its stream is set aside.  *caused_by* is what the caller acted on.

        Raises:
            DamagedEvent: How the lookup ended cannot be read.
        """
        waiting = self._schedule.waiting(lookup)
        if not waiting:
            return
        finish = await self._lookups.finish(lookup)
        if finish is None:
            return  # still live: its finish will come with the tail
        async with asyncio.TaskGroup() as tasks:
            for search, key_id in waiting.items():
                tasks.create_task(self._settle_one(search, key_id, finish, caused_by))

    async def _settle_one(
        self, search: str, key_id: str, finish: Finish, caused_by: AnyCause
    ) -> None:
        def decide(state: Key) -> Sequence[key.KeyEvent]:
            command = SettleSearch(
                search=search,
                lookup=finish.lookup,
                outcome=finish.outcome,
                verified=finish.verified,
                at=self._clock.now(),
            )
            return key.decide(command, state)

        stream = f"key-{key_id}"
        checked_decide = with_damage_check(stream, decide)
        failpoints.reach("settlement.before-append")
        try:
            with self._metrics.traces.span(
                "settle",
                within=root_place(finish.lookup),
                lookup=finish.lookup,
                outcome=finish.outcome,
            ):
                await retry_while_unavailable(
                    lambda: self._streams.change(stream, checked_decide, caused_by=caused_by)
                )
        except DamagedEvent as damaged:
            self._streams.set_aside.note(damaged)
            return
        failpoints.reach("settlement.after-append")
        self._schedule.settled(search, finish.lookup)

    # Timers: a lookup's deadline passes, its failed work is tried again.

    async def _fire_timers(self) -> None:
        while True:
            due = await self._schedule.take_due()
            self._firing = True
            await self._side_by_side(self._fire, due.items())
            self._firing = False

    async def _fire(self, due: tuple[str, Sequence[datetime]]) -> None:
        lookup, times = due
        for when in times:
            if lookup not in self._schedule.running:
                return
            at, lookups = max(when, self._clock.now()), self._lookups
            retry = RetryDue(lookup=lookup, known=await lookups.known(lookup), at=at)
            failpoints.reach("timer.before-deadline")
            deadline = PassDeadline(lookup=lookup, at=at)
            await lookups.change(deadline, TimerCause(timer="deadline"))
            failpoints.reach("timer.before-retry")
            await lookups.change(retry, TimerCause(timer="retry"))
            failpoints.reach("timer.after-retry")

    # Silence: work's message, or its answer, is lost.

    async def _watch_silence(self) -> None:
        while True:
            await self._real.sleep_until(self._real.now() + SILENCE_CHECK)
            for attempt in self._schedule.silent(SILENCE_S):
                with self._setting_aside():
                    await self._ask_after(attempt)

    async def _ask_after(self, attempt: Attempt) -> None:
        """Issue the work of *attempt* again unless a heartbeat of it came."""
        ago_s = await self._heartbeats.silent_for(*attempt.id)
        if ago_s is not None and ago_s <= SILENCE_S:
            self._schedule.seen_alive(attempt, ago_s)
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

    # What was left undone: at a start, and in a stream once it is mended.

    async def _resume_all(self) -> int:
        """Resume what was unfinished when the last driver ended.

        Returns:
            The position from which on events are to be noted.
        """
        unfinished = await retry_while_unavailable(self._open_work.unfinished)
        for damaged in unfinished.set_aside:
            self._streams.set_aside.note(damaged)
        schedule = self._schedule
        for search in unfinished.searches:
            schedule.wait(search.search, search.key_id, search.lookup)
        schedule.running.update(unfinished.lookups)
        restarted_by = StartCause() if self._restart_work else None
        self._restart_work = False  # also if this start does not come to its end

        async def resume(lookup: str) -> None:
            await self._resume(lookup, restarted_by)

        async def settle(lookup: str) -> None:
            failpoints.reach("sweep.before-settlement")
            await self._settle(lookup, StartCause())

        await self._side_by_side(resume, list(schedule.running))
        ended = [each for each in schedule.waited_for() if each not in schedule.running]
        await self._side_by_side(settle, ended)
        return unfinished.position

    async def _resume_mended(self, damaged: DamagedEvent) -> None:
        """Do what was passed over while the stream of *damaged* could not be read.

        Raises:
            DamagedEvent, LogUnavailable: It still cannot be.
        """
        stream, mended, schedule = damaged.stream, TimerCause(timer="mended"), self._schedule
        if not stream:
            found = await self._streams.log.tail(damaged.position - 1, 1)
            stream = found[0].stream if found else ""
        waited_for = {each for each in schedule.waited_for() if stream_of(each) == stream}
        if stream.startswith("key-"):
            key_id = stream.removeprefix("key-")
            for search in (await self._streams.key(key_id)).state.running:
                schedule.wait(search.search, key_id, search.lookup)
                waited_for.add(search.lookup)
        elif stream.startswith("brand-"):
            live = (await self._streams.brand(stream)).state.live
            for each in [each for each in schedule.running if stream_of(each) == stream]:
                if live is None or live.id != each:
                    schedule.finish(each)
            if live is not None:
                schedule.running.add(live.id)
                await self._resume(live.id, mended)
        for lookup in waited_for:
            await self._settle(lookup, mended)

    async def _resume(self, lookup: str, restarted_by: AnyCause | None) -> None:
        """Resume *lookup*; with *restarted_by* its work in flight is issued again."""
        schedule = self._schedule
        live = (await self._lookups.brand(lookup)).live
        if live is None or live.id != lookup:
            return  # finished since; its event comes with the tail
        now = self._clock.now()
        schedule.set_timer(now if live.is_from_future(now) else live.deadline_at, lookup)
        for work in live.open:
            if work.skip_at is not None:
                schedule.set_timer(work.skip_at, lookup)
            if work.retry_at is not None:
                schedule.set_timer(work.retry_at, lookup)
                continue
            # Where leaders come and go faster than silence is noticed, it counts on.
            ago_s = 0.0
            if restarted_by is None and work.issued_at is not None:
                ago_s = (now - work.issued_at).total_seconds()
            schedule.issue(lookup, work.stage, work.item, work.attempt, ago_s)
        if restarted_by is not None:
            known = await self._lookups.known(lookup)
            at = self._clock.now()
            failpoints.reach("sweep.before-restart")
            restart = Restart(lookup=lookup, known=known, at=at)
            await self._lookups.change(restart, restarted_by)
            failpoints.reach("sweep.after-restart")

    async def _side_by_side(
        self, work: Callable[[T], Awaitable[None]], items: Iterable[T]
    ) -> None:
        """Do *work* with each of *items*, `AT_ONCE` at a time; each is set aside alone."""
        left = iter(items)

        async def take() -> None:
            for item in left:
                with self._setting_aside():
                    await work(item)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE):
                tasks.create_task(take())

    @contextmanager
    def _setting_aside(self) -> Iterator[None]:
        """Leave a stream that cannot be read within for when it is mended."""
        try:
            yield
        except DamagedEvent as damaged:
            self._streams.set_aside.note(damaged)
