"""Records what stages answer on ``cs.outcomes``.

Any number may run, each taking its share of the records: the expected version of a stream
is the referee, and the domain answers anything recorded twice with no events.
"""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial

from structlog import get_logger
from structlog.contextvars import bound_contextvars

from cs.bus.dead_letters import dead_letter, publish_dead_letter
from cs.bus.headers import answer_id, place_of, trace_id
from cs.bus.port import Bus, BusUnavailable, Record, Subscription
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
from cs.eventlog.fingerprints import Fingerprinter
from cs.eventlog.follow import VersionGate
from cs.eventlog.port import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.streams import Streams
from cs.keystore.port import KeysUnavailable
from cs.metrics.metrics import Metrics
from cs.pipeline.heartbeats import Heartbeats
from cs.pipeline.lookups import Lookups
from cs.pipeline.receipts import Receipts
from cs.pipeline.suppression import SuppressionFilter
from cs.postgres.errors import DatabaseUnavailable
from cs.runtime import failpoints
from cs.runtime.clock import Clock
from cs.runtime.coordination import KeyedLock
from cs.runtime.log_throttle import LogThrottle

log = get_logger()

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
    """An outcome of work that was not issued to its sender."""


class OutcomeRecorder:
    """Records for ever; cancel `run` to stop.

    Args:
        receipts: Show whether the work that an outcome answers was issued to its sender.
        verifiers: Names of those that are configured: no other one proves a mailbox.
        suppression: Keeps out who asked to be forgotten; without it no person did.
        keys: Show from which mailboxes mail came back; without them it came back from none.
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
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._gate = VersionGate("outcomes")
        self.forged = 0
        self._forgery_lines = LogThrottle(LOG_EVERY_S, monotonic=clock.monotonic)
        self._locks = KeyedLock()

    async def run(self) -> None:
        # In this order: the tasks go on while the subscription is left.
        async with (
            asyncio.TaskGroup() as tasks,
            self._bus.subscribe(OUTCOMES, group=GROUP, drain_s=DRAIN_S) as outcomes,
        ):
            # A slot before a record: every record that was fetched is being recorded.
            await self._slots.acquire()
            async for record in outcomes:
                task = tasks.create_task(self._record(record, outcomes))
                task.add_done_callback(lambda _: self._slots.release())
                await self._slots.acquire()

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
            await publish_dead_letter(self._bus, record, error)
        except Exception as error:  # noqa: BLE001  or one record ends every member in turn
            await dead_letter(self._bus, record, error)
        await outcomes.commit(record)
        failpoints.reach("outcome.after-commit")

    async def _process(self, outcome: Outcome, headers: Mapping[str, str]) -> None:
        if not self._receipts.match(outcome):
            self._count_forged(outcome)
            raise ForgedOutcome
        if not isinstance(outcome.finding, Alive):
            failpoints.reach("outcome.before-append")
            with self._traces.span(
                f"record {outcome.stage}",
                "consumer",
                within=place_of(headers, outcome.lookup),
                lookup=outcome.lookup,
                finding=str(outcome.finding.__struct_config__.tag),
            ):
                await self._record_when_readable(outcome)
            failpoints.reach("outcome.after-append")
        if isinstance(outcome.finding, HEARTBEATS):
            work = (outcome.lookup, outcome.stage, outcome.item, outcome.attempt)
            await self._heartbeats.record(*work)

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

    async def _record_when_readable(self, outcome: Outcome) -> None:
        """Record *outcome* once no event of a newer version stands in the way.

        It stays uncommitted, so that a process of that version gets it when this one ends.
        """
        try:
            await self._record_finding(outcome)
        except NewerEvent:
            self._slots.release()  # or the others would wait for it
            try:
                await self._gate.until_read(partial(self._record_finding, outcome))
            finally:
                await self._slots.acquire()

    async def _record_finding(self, outcome: Outcome) -> None:
        """Record *outcome* after those of its lookup that came before it."""
        async with self._locks.of(outcome.lookup):
            id_ = answer_id(outcome)
            caused_by = MessageCause(topic=OUTCOMES, id=id_, attempt=outcome.attempt)
            finding = await self._unsuppressed(outcome, caused_by)
            if finding is None:
                return
            self._log_unknown_verifiers(finding, outcome.lookup)
            known: dict[str, KnownDomain] = {}
            if isinstance(finding, ENDING_WITH_DOMAINS):
                known = await self._lookups.known(outcome.lookup)
            command = RecordFinding(
                lookup=outcome.lookup,
                stage=outcome.stage,
                item=outcome.item,
                attempt=outcome.attempt,
                finding=finding,
                known=known,
                verifiers=self._verifiers,
                at=self._clock.now(),
            )
            await self._lookups.change(command, caused_by)

    async def _unsuppressed(self, outcome: Outcome, caused_by: AnyCause) -> AnyFinding | None:
        """Return what *outcome* found, without people who are suppressed; ``None``: nothing.

        If a mailbox shows that a person is, everything about them is erased.
        """
        if self._suppression is None:
            return outcome.finding
        screened = await self._suppression.screen(outcome.finding)
        if screened.suppressed:
            live = (await self._lookups.brand(outcome.lookup)).live
            for person in live.people if live and live.id == outcome.lookup else ():
                if print_ := screened.suppressed.get(person.person):
                    await self._suppression.erase(outcome.lookup, person, print_, caused_by)
        return screened.finding

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
