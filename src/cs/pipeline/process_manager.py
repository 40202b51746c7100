"""Drives every lookup from its start to the last settlement.

The only writer of search progress.  It has three inputs: what stages answer
(``cs.outcomes``), the tail of the log, and timers that are due.  It decides, appends,
then commits.  Any number may run: the expected version of a stream is the referee, and
the domain's answer to anything said twice is silence.
"""

import asyncio
import heapq
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace
from structlog import get_logger

from cs import failpoints
from cs.bus.dead_letters import dead_letter
from cs.bus.port import Bus, Record, Subscription
from cs.bus.topics import OUTCOMES, UNREADABLE, decode_outcome
from cs.clock import Clock
from cs.domain import brand, key, mail_domain
from cs.domain.brand import Brand, Finish, stream_of
from cs.domain.brand_events import (
    AttemptFailed,
    BrandResolved,
    ContactsDiscovered,
    ContactsErased,
    ContactsRanked,
    LookupCommand,
    LookupFinished,
    LookupStarted,
    MailDomainChecked,
    PassDeadline,
    RecordFinding,
    ReissueSilent,
    Restart,
    RetryDue,
    StageIssued,
)
from cs.domain.key import Key, SearchAdmitted, SearchSettled, SettleSearch
from cs.domain.mailbox import DomainFacts
from cs.domain.stage_work import Alive, Outcome, RankingDone
from cs.eventlog.follow import follow, patiently
from cs.eventlog.open_work import OpenWork
from cs.eventlog.port import LogUnavailable, Recorded
from cs.eventlog.streams import Streams
from cs.pipeline.hands import Hands, Held
from cs.pipeline.suppressing import Suppressing

log = get_logger()

GROUP = "process-manager"
#: Outcomes being recorded at once; those of one lookup queue behind each other.
AT_ONCE = 64
#: No sign of life for this long: the work is issued again.
SILENCE_S = 20.0
SILENCE_CHECK_S = 1.0


class ProcessManager:
    """Runs until cancelled.

    Args:
        restart_work: Issue all open work again at the start: true where the bus forgets
            everything with the process.
        monotonic: Measures a stage's silence, if not the clock does: seconds of real
            time where the clock may be moved, since no work gets done by that.
        suppressing: Keeps out who asked to be forgotten; without it nobody did.
    """

    def __init__(
        self,
        streams: Streams,
        bus: Bus,
        open_work: OpenWork,
        clock: Clock,
        *,
        restart_work: bool,
        monotonic: Callable[[], float] | None = None,
        suppressing: Suppressing | None = None,
    ) -> None:
        self._streams = streams
        self._bus = bus
        self._open_work = open_work
        self._clock = clock
        self._restart_work = restart_work
        self._suppressing = suppressing
        self._open: set[str] = set()
        self._waiting: dict[str, dict[str, str]] = {}  # lookup -> search -> key
        self._due: list[tuple[datetime, str]] = []
        self._due_changed = asyncio.Event()
        self._firing = False
        self._position: int | None = None  # noted up to here, settlements done
        self._hands = Hands(monotonic or clock.monotonic)
        self._places = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        async with self._bus.subscribe(OUTCOMES, group=GROUP) as outcomes:
            position = await self._sweep()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow_log(position), name="pm-log")
                tasks.create_task(self._follow_outcomes(outcomes), name="pm-outcomes")
                tasks.create_task(self._follow_timers(), name="pm-timers")
                tasks.create_task(self._watch_silence(), name="pm-silence")

    def in_hand(self) -> frozenset[Held]:
        """Return the work that stages have in hand."""
        return self._hands.all()

    def at_rest(self, head: int) -> bool:
        """Return whether all up to *head* is noted and no timer is due."""
        if self._position is None or self._position < head or self._firing:
            return False
        return not self._due or self._due[0][0] > self._clock.now()

    # The start.

    async def _sweep(self) -> int:
        """Take up what was unfinished when the last process manager ended."""
        unfinished = await self._open_work.unfinished()
        for search in unfinished.searches:
            self._waiting.setdefault(search.lookup, {})[search.search] = search.key_id
        self._open.update(unfinished.lookups)
        for lookup in list(self._open):
            state = await self._brand(stream_of(lookup))
            if state.live is None or state.live.id != lookup:
                continue  # finished since; its event comes with the tail
            self._timer(state.live.deadline_at, lookup)
            for work in state.live.open:
                if work.retry_at is not None:
                    self._timer(work.retry_at, lookup)
                else:
                    self._hands.took(lookup, work.stage, work.item, work.attempt)
            if self._restart_work:
                known = await self._known(lookup)
                at = self._clock.now()
                failpoints.reach("sweep.before-restart")
                await self._change(Restart(lookup=lookup, known=known, at=at))
                failpoints.reach("sweep.after-restart")
        for lookup in [each for each in self._waiting if each not in self._open]:
            failpoints.reach("sweep.before-settlement")
            await self._settle_all(lookup)
        return unfinished.position

    # The tail of the log.

    async def _follow_log(self, position: int) -> None:
        self._position = position
        async for page in follow(self._streams.log, position):
            for recorded in page:
                await self._note(recorded)
            await self._settle_late(page)
            self._position = page[-1].position

    async def _note(self, recorded: Recorded) -> None:
        match recorded.event:
            case LookupStarted(lookup=lookup, deadline_at=deadline_at):
                self._open.add(lookup)
                self._timer(deadline_at, lookup)
            case StageIssued(lookup=lookup, stage=stage, item=item, attempt=attempt):
                self._hands.took(lookup, stage, item, attempt)
            case AttemptFailed(lookup=lookup, stage=stage, item=item, retry_at=retry_at):
                self._hands.gave(lookup, stage, item)
                if retry_at is not None:
                    self._timer(retry_at, lookup)
            case BrandResolved(lookup=lookup):
                self._hands.gave(lookup, "brand-resolution")
            case ContactsDiscovered(lookup=lookup):
                self._hands.gave(lookup, "contact-discovery")
            case ContactsRanked(lookup=lookup):
                self._hands.gave(lookup, "ranking")
            case MailDomainChecked(lookup=lookup, mail_domain=domain, learned=learned):
                self._hands.gave(lookup, "verification", domain)
                await self._learn(domain, learned)
            case LookupFinished(lookup=lookup, outcome=outcome, verified=verified):
                self._open.discard(lookup)
                self._hands.gave_all(lookup)
                log.info("lookup_finished", lookup=lookup, outcome=outcome, verified=verified)
                await self._settle_all(lookup)
            case ContactsErased():
                await self._brand(recorded.stream)  # its kept state has them in clear
            case SearchAdmitted(search=search, lookup=lookup):
                key_id = recorded.stream.removeprefix("key-")
                self._waiting.setdefault(lookup, {})[search] = key_id
            case SearchSettled(search=search, lookup=lookup):
                self._no_longer_waits(search, lookup)
            case _:
                pass

    async def _settle_late(self, page: Sequence[Recorded]) -> None:
        """Settle searches that joined a lookup just after its finish was stored."""
        for recorded in page:
            if isinstance(recorded.event, SearchAdmitted):
                lookup = recorded.event.lookup
                if lookup in self._waiting and lookup not in self._open:
                    await self._settle_all(lookup)

    async def _settle_all(self, lookup: str) -> None:
        waiting = self._waiting.get(lookup)
        if not waiting:
            return
        finish = await self._finish_of(lookup)
        if finish is None:
            return  # still live: its finish will come with the tail
        async with asyncio.TaskGroup() as tasks:
            for search, key_id in list(waiting.items()):
                tasks.create_task(self._settle(search, key_id, finish))

    async def _settle(self, search: str, key_id: str, finish: Finish) -> None:
        def decide(state: Key) -> Sequence[key.KeyEvent]:
            command = SettleSearch(
                search=search,
                lookup=finish.lookup,
                outcome=finish.outcome,
                verified=finish.verified,
                at=self._clock.now(),
            )
            return key.decide(command, state)

        failpoints.reach("settlement.before-append")
        await patiently(lambda: self._streams.change(f"key-{key_id}", decide))
        failpoints.reach("settlement.after-append")
        self._no_longer_waits(search, finish.lookup)

    async def _finish_of(self, lookup: str) -> Finish | None:
        stream = stream_of(lookup)
        state = await self._brand(stream)
        found = state.finish_of(lookup)
        if found is not None or (state.live is not None and state.live.id == lookup):
            return found
        for recorded in await patiently(partial(self._streams.log.read, stream)):
            event = recorded.event
            if isinstance(event, LookupFinished) and event.lookup == lookup:
                return Finish(lookup, event.outcome, event.at, event.verified)
        return None

    def _no_longer_waits(self, search: str, lookup: str) -> None:
        waiting = self._waiting.get(lookup)
        if waiting is not None:
            waiting.pop(search, None)
            if not waiting:
                del self._waiting[lookup]

    async def _learn(self, domain: str, learned: DomainFacts) -> None:
        command = mail_domain.LearnDomain(facts=learned, at=self._clock.now())
        failpoints.reach("learning.before-append")
        try:
            await self._streams.change(
                f"mail-domain-{domain}", lambda state: mail_domain.decide(command, state)
            )
        except LogUnavailable as error:
            log.warning("mail_domain_not_learned", why=str(error))  # only costs a probe
        failpoints.reach("learning.after-append")

    # Outcomes.

    async def _follow_outcomes(self, outcomes: Subscription) -> None:
        async with asyncio.TaskGroup() as tasks:
            async for record in outcomes:
                await self._places.acquire()
                task = tasks.create_task(self._record(record, outcomes))
                task.add_done_callback(lambda _: self._places.release())

    async def _record(self, record: Record, outcomes: Subscription) -> None:
        try:
            outcome = decode_outcome(record.value)
            brand.check_lookup(outcome.lookup)
        except (*UNREADABLE, ValueError) as error:
            await dead_letter(self._bus, record, error)
        else:
            self._hands.heard(outcome.lookup, outcome.stage, outcome.item, outcome.attempt)
            if not isinstance(outcome.finding, Alive):
                failpoints.reach("outcome.before-append")
                await self._take(outcome)
                failpoints.reach("outcome.after-append")
        await outcomes.commit(record)
        failpoints.reach("outcome.after-commit")

    async def _take(self, outcome: Outcome) -> None:
        """Decide on what a stage found, without people who are suppressed."""
        if self._suppressing is not None:
            screened = await self._suppressing.screened(outcome.finding)
            live = (await self._brand(stream_of(outcome.lookup))).live if screened.met else None
            for person in live.people if live and live.id == outcome.lookup else ():
                if person.person in screened.met:
                    print_ = screened.met[person.person]
                    await self._suppressing.erase(outcome.lookup, person, print_)
            if screened.finding is None:
                return
            outcome = replace(outcome, finding=screened.finding)
        await self._change(await self._command(outcome))

    async def _command(self, outcome: Outcome) -> RecordFinding:
        known: dict[str, DomainFacts] = {}
        if isinstance(outcome.finding, RankingDone):
            known = await self._known(outcome.lookup)
        return RecordFinding(
            lookup=outcome.lookup,
            stage=outcome.stage,
            item=outcome.item,
            attempt=outcome.attempt,
            finding=outcome.finding,
            known=known,
            at=self._clock.now(),
        )

    async def _known(self, lookup: str) -> dict[str, DomainFacts]:
        """Return what is known of the mail domains of *lookup*."""
        state = await self._brand(stream_of(lookup))
        if state.live is None or state.live.brand is None:
            return {}
        known = {}
        for domain in state.live.brand.mail_domains:
            folded = await patiently(partial(self._streams.mail_domain, domain))
            known[domain] = folded.state.known(self._clock.now())
        return known

    async def _brand(self, stream: str) -> Brand:
        state: Brand = (await patiently(partial(self._streams.brand, stream))).state
        return state

    # Timers.

    def _timer(self, when: datetime, lookup: str) -> None:
        heapq.heappush(self._due, (when, lookup))
        self._due_changed.set()

    async def _follow_timers(self) -> None:
        while True:
            self._due_changed.clear()
            if not self._due or not await self._due_now(self._due[0][0]):
                await self._due_changed.wait()
                continue
            when, lookup = heapq.heappop(self._due)
            if lookup in self._open:
                self._firing = True
                await self._fire(when, lookup)
                self._firing = False

    async def _due_now(self, when: datetime) -> bool:
        """Wait until *when*; return false if an earlier timer came in meanwhile."""
        if when <= self._clock.now():
            return True
        sleeping = asyncio.ensure_future(self._clock.sleep_until(when))
        changed = asyncio.ensure_future(self._due_changed.wait())
        try:
            await asyncio.wait([sleeping, changed], return_when=asyncio.FIRST_COMPLETED)
            if not sleeping.done():
                self._due_changed.set()
            return sleeping.done()
        finally:
            await _stop(sleeping, changed)

    async def _fire(self, when: datetime, lookup: str) -> None:
        at = max(when, self._clock.now())
        retry = RetryDue(lookup=lookup, known=await self._known(lookup), at=at)
        failpoints.reach("timer.before-deadline")
        await self._change(PassDeadline(lookup=lookup, at=at))
        failpoints.reach("timer.before-retry")
        await self._change(retry)
        failpoints.reach("timer.after-retry")

    async def _watch_silence(self) -> None:
        while True:
            await asyncio.sleep(SILENCE_CHECK_S)
            for silent in self._hands.silent(SILENCE_S):
                log.warning(
                    "stage_silent",
                    lookup=silent.lookup,
                    stage=silent.stage,
                    attempt=silent.attempt,
                )
                again = ReissueSilent(
                    lookup=silent.lookup,
                    stage=silent.stage,
                    item=silent.item,
                    attempt=silent.attempt,
                    known=await self._known(silent.lookup),
                    at=self._clock.now(),
                )
                await self._change(again)

    # Appending.

    async def _change(self, command: LookupCommand) -> None:
        """Record *command* on its lookup's brand, however long the log is away."""
        stream = stream_of(command.lookup)
        await patiently(
            lambda: self._streams.change(stream, lambda state: brand.decide(command, state))
        )


async def _stop(*tasks: "asyncio.Future[Any]") -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
