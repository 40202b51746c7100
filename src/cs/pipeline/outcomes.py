"""Records what stages answer on ``cs.outcomes``.

Any number may run, each taking its share of the records: the expected version of a stream
is the referee, and the domain answers anything recorded twice with no events.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Generic, TypeVar

from msgspec.structs import replace
from structlog import get_logger
from structlog.contextvars import bound_contextvars

from cs.bus.dead_letters import dead_letter, publish_dead_letter
from cs.bus.errors import BusUnavailable
from cs.bus.headers import answer_id, place_of, trace_id
from cs.bus.port import Bus, Record, Subscription
from cs.bus.topics import OUTCOMES, decode_outcome
from cs.domain.brand.events import RecordFinding
from cs.domain.causation import AnyCause, MessageCause
from cs.domain.mail.mailbox import Verdict
from cs.domain.mail_domain import KnownDomain
from cs.domain.stages.table import PROGRESS
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    DomainVerified,
    FactsFound,
    Failed,
    Outcome,
    RankingDone,
    checked_in,
)
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.fingerprints import Fingerprinter
from cs.eventlog.follow import VersionGate
from cs.eventlog.streams import Streams
from cs.keystore.errors import KeysUnavailable
from cs.metrics.metrics import Metrics
from cs.pipeline.heartbeats import Heartbeats
from cs.pipeline.lookups import Lookups, PreparedCommands
from cs.pipeline.receipts import Receipts
from cs.pipeline.suppression import SuppressionFilter
from cs.postgres.errors import DatabaseUnavailable
from cs.runtime import failpoints
from cs.runtime.clock import Clock
from cs.runtime.coordination import KeyedLock
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

T = TypeVar("T")

GROUP = "process-manager"
#: Outcomes being recorded at once; those of one lookup queue behind each other.
AT_ONCE = 64
#: How long outcomes in flight may take to be recorded once the recorder is stopped.
DRAIN_S = 5.0
#: What a stage sends while it works on.  A result needs no note: it ends the work.
HEARTBEATS = (Alive, *PROGRESS)
#: An attacker may send many forged outcomes: one line says how many there were.
LOG_EVERY_S = 10.0
#: After these, what is known of mail domains may matter.
ENDING_WITH_DOMAINS = (RankingDone, DomainVerified, FactsFound, Failed)
#: What says nothing about the record at hand.
AWAY = (LogUnavailable, KeysUnavailable, DatabaseUnavailable, BusUnavailable)


class ForgedOutcome(Exception):
    """An outcome of work that was not issued to its sender.

    Attributes:
        outcome: As it came.
    """

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("an outcome of work that was not issued to its sender")
        self.outcome = outcome


class OutcomeRecorder:
    """Records for ever; cancel `run` to stop.

    Args:
        receipts: Show whether the work that an outcome answers was issued to its sender.
        verifiers: Names of those that are configured: no other one proves a mailbox.
        suppression: Keeps out who asked to be forgotten; without it no person did.
        keys: Show from which mailboxes mail came back; without them it came back from none.
        drain_s: Stopping gives outcomes in flight this long to be recorded; what is not
            comes again.
        at_once: Outcomes recorded at the same time, at most.
        metrics: Where its spans go.

    Attributes:
        forged: Outcomes refused since the start, as their work was not issued to their sender.
    """

    def __init__(
        self,
        streams: Streams,
        bus: Bus,
        clock: Clock,
        heartbeats: Heartbeats,
        *,
        receipts: Receipts,
        verifiers: Collection[str],
        suppression: SuppressionFilter | None = None,
        keys: Fingerprinter | None = None,
        drain_s: float = DRAIN_S,
        at_once: int = AT_ONCE,
        metrics: Metrics | None = None,
    ) -> None:
        self._traces = (metrics or Metrics()).traces
        self._lookups = Lookups(streams, clock, keys)
        self._bus = bus
        self._clock = clock
        self._heartbeats = heartbeats
        self._receipts = receipts
        self._verifiers = frozenset(verifiers)
        self._suppression = suppression
        self._drain_s = drain_s
        self._slots = asyncio.Semaphore(at_once)
        self._without_slot = set[asyncio.Task[None] | None]()
        self._gate = VersionGate("outcomes")
        self.forged = 0
        self._forgery_lines = LogThrottle(LOG_EVERY_S, monotonic=clock.monotonic)
        self._together = Coalescer(self._record_together)

    async def run(self) -> None:
        # In this order: the tasks go on while the subscription is left.
        async with (
            asyncio.TaskGroup() as tasks,
            self._bus.subscribe(OUTCOMES, group=GROUP, drain_s=self._drain_s) as outcomes,
        ):
            # A slot before a record: every record that was fetched is being recorded.
            await self._slots.acquire()
            async for record in outcomes:
                task = tasks.create_task(self._record(record, outcomes))
                task.add_done_callback(self._release_slot)
                await self._slots.acquire()

    def _release_slot(self, task: asyncio.Task[None]) -> None:
        if task in self._without_slot:
            self._without_slot.remove(task)
        else:
            self._slots.release()

    async def _record(self, record: Record, outcomes: Subscription) -> None:
        try:
            outcome = decode_outcome(record.value)
            with bound_contextvars(trace_id=trace_id(record.headers, outcome.lookup)):
                await self._process(outcome, record.headers)
        except DamagedEvent as error:
            # Its lookup is set aside.  Left uncommitted, it would hold up its partition; when
            # the stream is mended, the driver issues its open work again.
            await dead_letter(self._bus, record, error)
        except AWAY:
            raise  # it comes again, here or to another member
        except ForgedOutcome as error:
            self._count_forged(error.outcome)
            await publish_dead_letter(self._bus, record, error)
        except Exception as error:  # noqa: BLE001  or one record ends every member in turn
            await dead_letter(self._bus, record, error)
        await outcomes.commit(record)
        failpoints.reach("outcome.after-commit")

    async def _process(self, outcome: Outcome, headers: Mapping[str, str]) -> None:
        if not self._receipts.match(outcome):
            raise ForgedOutcome(outcome)
        if not isinstance(outcome.finding, HEARTBEATS):
            await self._record_finding(outcome, headers)
            return
        heartbeat = asyncio.ensure_future(self._record_heartbeat(outcome))
        try:
            await self._record_finding(outcome, headers)
        finally:
            await heartbeat

    async def _record_finding(self, outcome: Outcome, headers: Mapping[str, str]) -> None:
        if not isinstance(outcome.finding, Alive):
            failpoints.reach("outcome.before-append")
            with self._traces.span(
                f"record {outcome.stage}",
                "consumer",
                within=place_of(headers, outcome.lookup),
                lookup=outcome.lookup,
                finding=str(outcome.finding.__struct_config__.tag),
            ):
                await self._once_readable(partial(self._record_in_turn, outcome))
            failpoints.reach("outcome.after-append")

    def _count_forged(self, outcome: Outcome) -> None:
        """Count *outcome*, and log the first and then one every `LOG_EVERY_S` at most."""
        self.forged += 1
        if self._forgery_lines.allow() is not None:
            log.error(
                "outcome_forged",
                lookup=outcome.lookup,
                stage=outcome.stage,
                receipt="wrong" if outcome.receipt else "missing",
                refused=self.forged,
            )

    async def _record_heartbeat(self, outcome: Outcome) -> None:
        await self._heartbeats.record(
            outcome.lookup, outcome.stage, outcome.item, outcome.attempt
        )

    async def _once_readable(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what *attempt* gives, once its stream has no event of a newer version.

        The outcome stays uncommitted, so that a process of that version gets it when this
        one ends.  The others of its partition go on, as long as the bus delivers them.
        """
        try:
            return await attempt()
        except NewerEvent:
            task = asyncio.current_task()
            self._without_slot.add(task)
            self._slots.release()  # or the others would wait for it
            found = await self._gate.until_read(attempt)
            await self._slots.acquire()
            self._without_slot.remove(task)
            return found

    async def _record_in_turn(self, outcome: Outcome) -> None:
        await self._together.do(outcome.lookup, outcome)

    async def _record_together(self, outcomes: Sequence[Outcome]) -> None:
        """Record *outcomes* of one lookup at once, without people who are suppressed."""
        lookup = outcomes[0].lookup
        causes = [
            MessageCause(topic=OUTCOMES, id=answer_id(each), attempt=each.attempt)
            for each in outcomes
        ]
        findings = await self._unsuppressed(outcomes, causes)
        left = [
            (replace(outcome, finding=finding), caused_by)
            for outcome, finding, caused_by in zip(outcomes, findings, causes, strict=True)
            if finding is not None
        ]
        if left:
            commands = await self._commands([outcome for outcome, _ in left])
            because = [caused_by for _, caused_by in left]
            prepare = partial(self._without_refuted, commands, because)
            await self._lookups.change_by_others(lookup, prepare)

    async def _unsuppressed(
        self, outcomes: Sequence[Outcome], causes: Sequence[AnyCause]
    ) -> Sequence[AnyFinding | None]:
        """Return what *outcomes* found, without people who are suppressed; ``None``: nothing.

        If a mailbox shows that a person is, everything about them is erased.
        """
        found = [outcome.finding for outcome in outcomes]
        if self._suppression is None:
            return found
        screened = await self._suppression.screen(found)
        for outcome, each, caused_by in zip(outcomes, screened, causes, strict=True):
            if not each.suppressed:
                continue
            live = (await self._lookups.brand(outcome.lookup)).live
            people = live.people if live and live.id == outcome.lookup else ()
            for person in people:
                if person.person in each.suppressed:
                    print_ = each.suppressed[person.person]
                    await self._suppression.erase(outcome.lookup, person, print_, caused_by)
        return [each.finding for each in screened]

    async def _commands(self, outcomes: Sequence[Outcome]) -> Sequence[RecordFinding]:
        for outcome in outcomes:
            self._log_unknown_verifiers(outcome.finding, outcome.lookup)
        known: dict[str, KnownDomain] = {}
        if any(isinstance(each.finding, ENDING_WITH_DOMAINS) for each in outcomes):
            known = await self._lookups.known(outcomes[0].lookup)
        at = self._clock.now()
        return [
            RecordFinding(
                lookup=outcome.lookup,
                stage=outcome.stage,
                item=outcome.item,
                attempt=outcome.attempt,
                finding=outcome.finding,
                known=known,
                verifiers=self._verifiers,
                at=at,
            )
            for outcome in outcomes
        ]

    async def _without_refuted(
        self, commands: Sequence[RecordFinding], causes: Sequence[AnyCause]
    ) -> PreparedCommands:
        """Return *commands* with the mailboxes that are refuted as long as nothing moves."""
        checked = chain.from_iterable(checked_in(each.finding) for each in commands)
        addresses, unmoved = await self._lookups.refuted(checked)
        prepared = [replace(each, refuted=addresses) for each in commands]
        return PreparedCommands(list(zip(prepared, causes, strict=True)), unmoved)

    def _log_unknown_verifiers(self, finding: AnyFinding, lookup: str) -> None:
        """Log mailboxes that only an unknown verifier vouches for: they are not shown."""
        found = checked_in(finding)
        by = {each.verifier for each in found if each.verdict is Verdict.DELIVERABLE}
        if strangers := by - self._verifiers:
            log.warning(
                "verifier_not_configured",
                lookup=lookup,
                verifiers=sorted(name or "" for name in strangers),
            )


@dataclass(eq=False)
class _Waiting(Generic[T]):
    item: T
    done: bool = False
    error: Exception | None = None


class Coalescer(Generic[T]):
    """Batches calls per key: while one batch runs, later calls for the key form the next.

    A call that comes alone waits for nothing.  If a batch fails, each call of it is done by
    itself, so that only the one at fault fails.

    Args:
        work: Done with a batch.  It may be called again with what it was called with before.
    """

    def __init__(self, work: Callable[[Sequence[T]], Awaitable[None]]) -> None:
        self._work = work
        self._locks = KeyedLock()
        self._waiting: dict[str, list[_Waiting[T]]] = {}

    async def do(self, key: str, item: T) -> None:
        """Return once the work with *item* is done.

        Raises:
            Exception: What the work with it raised.
        """
        mine = _Waiting(item)
        waiting = self._waiting.setdefault(key, [])
        waiting.append(mine)
        try:
            async with self._locks.of(key):
                if not mine.done:
                    await self._do_all([each for each in waiting if not each.done])
        finally:
            waiting.remove(mine)
            if not waiting:
                del self._waiting[key]
        if mine.error is not None:
            raise mine.error

    async def _do_all(self, group: Sequence[_Waiting[T]]) -> None:
        if len(group) > 1 and await self._error_of(group) is None:
            for each in group:
                each.done = True
            return
        for each in group:  # alone, or one of them is at fault: which?
            each.error = await self._error_of([each])
            each.done = True

    async def _error_of(self, group: Sequence[_Waiting[T]]) -> Exception | None:
        try:
            await self._work([each.item for each in group])
        except Exception as error:  # noqa: BLE001  raised to who waits for it
            return error
        return None
