"""Feeds a stage from its topic and sends what it found to ``cs.outcomes``."""

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from time import perf_counter

from msgspec.structs import replace
from structlog import get_logger
from structlog.contextvars import bound_contextvars

from cs.bus.dead_letters import dead_letter
from cs.bus.headers import outcome_headers, place_of, trace_id
from cs.bus.port import Bus, BusUnavailable, Record, Subscription
from cs.bus.topics import (
    MESSAGE_MAX,
    OUTCOMES,
    STAGE_TOPICS,
    decode_outcome,
    decode_work,
    encode,
)
from cs.domain.cause import raised_at
from cs.domain.stages.limits import BeyondLimits, fitted, lighter
from cs.domain.stages.refused import wrong_result
from cs.domain.stages.table import PROGRESS, STAGES
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    Failed,
    Outcome,
    Work,
    with_costs,
)
from cs.metrics.metrics import Metrics
from cs.paid_calls.current_work import set_current_lookup
from cs.pipeline.cost_meter import metered
from cs.plugins.containment import ATTEMPT_ENDS_AT
from cs.plugins.stages import Report, Stage
from cs.runtime import failpoints
from cs.runtime.clock import Clock, until
from cs.runtime.coordination import KeyedLock

log = get_logger()

#: Records of one stage in flight at once; the topic holds the others.
MAX_IN_FLIGHT = 64
#: How often the process manager gets a heartbeat of work in flight.
HEARTBEAT_EVERY_S = 5.0
#: Wait before a result that the bus did not take is published again.
RETRY_S = 0.5
#: A result is offered until its work's deadline, but at least this long: work that is
#: silent for so long is issued again.
RESULT_S = 20.0
#: How long work in flight may take to be finished once the runner is stopped.
DRAIN_S = 5.0

#: Functions that the log line of a bug names: enough to see whose fault it was.
_FUNCTIONS = 10
#: Findings without which the result is the same.
BEFORE_RESULT = (Alive, *PROGRESS)

#: Lookup and item of a piece of work.
WorkKey = tuple[str, str]


class Runner:
    """Runs *stage* for ever; cancel `run` to stop.

    Args:
        drain_s: Stopping gives work in flight this long to be answered; what is not comes
            again.  On a bus that forgets, waiting for it is of no use.
        metrics: Where its work is counted.
    """

    def __init__(
        self,
        stage: Stage,
        bus: Bus,
        clock: Clock,
        *,
        drain_s: float = DRAIN_S,
        metrics: Metrics | None = None,
    ) -> None:
        self._metrics = metrics or Metrics()
        self._metrics.stage_in_flight.measure(lambda: len(self._in_flight), stage.name)
        self._stage = stage
        self._bus = bus
        self._clock = clock
        self._drain_s = drain_s
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._in_flight: dict[WorkKey, int] = {}  # the newest attempt asked for
        self._locks = KeyedLock()

    async def run(self) -> None:
        topic, group = STAGE_TOPICS[self._stage.name], self._stage.name
        # In this order: the tasks go on while the subscription is left.
        async with (
            asyncio.TaskGroup() as tasks,
            self._bus.subscribe(topic, group=group, drain_s=self._drain_s) as records,
        ):
            # A slot before a record: every record that was fetched is being worked on.
            await self._slots.acquire()
            async for record in records:
                task = tasks.create_task(self._process(record, records))
                task.add_done_callback(lambda _: self._slots.release())
                await self._slots.acquire()

    async def _process(self, record: Record, records: Subscription) -> None:
        try:
            await self._work_once(self._decode(record), record.headers)
        except Exception as error:  # noqa: BLE001  or one record ends every member in turn
            await dead_letter(self._bus, record, error)
        await records.commit(record)
        failpoints.reach("stage.after-commit")

    def _decode(self, record: Record) -> Work:
        """Return the work in *record*.

        Raises:
            UNREADABLE: It is none, or another stage's.
        """
        work = decode_work(record.value)
        if work.stage != self._stage.name:
            raise BeyondLimits("stage")
        return work

    async def _work_once(self, work: Work, incoming: Mapping[str, str]) -> None:
        key = (work.lookup, work.item)
        if key in self._in_flight:
            # A duplicate of what is in flight is dropped; its answer serves both.
            self._in_flight[key] = max(self._in_flight[key], work.attempt)
            return
        self._in_flight[key] = work.attempt
        try:
            with bound_contextvars(trace_id=trace_id(incoming, work.lookup)):
                await self._work(work, incoming)
        finally:
            del self._in_flight[key]

    async def _work(self, work: Work, incoming: Mapping[str, str]) -> None:
        failpoints.reach("stage.before-work")
        async with asyncio.TaskGroup() as tasks:
            alive = tasks.create_task(self._send_heartbeats(work, incoming))
            finding = await self._measured(work, incoming, tasks)
            alive.cancel()
            failpoints.reach("stage.before-result")
            # A task too, so that it is sent after the progress, whose answer it need not await.
            await tasks.create_task(self._report_result(work, incoming, finding))
        failpoints.reach("stage.after-result")

    async def _measured(
        self, work: Work, incoming: Mapping[str, str], tasks: asyncio.TaskGroup
    ) -> AnyFinding:
        began = perf_counter()
        with self._metrics.traces.span(
            f"stage {work.stage}",
            "consumer",
            within=place_of(incoming, work.lookup),
            lookup=work.lookup,
            attempt=work.attempt,
        ) as span:
            with metered() as meter:
                finding = await self._handle(work, incoming, tasks)
            finding = with_costs(finding, meter.costs())
            span.note(ended=_ending(finding))
        spent = self._metrics.stage_seconds.of(self._stage.name, _ending(finding))
        spent.observe(perf_counter() - began)
        return finding

    async def _handle(
        self, work: Work, incoming: Mapping[str, str], tasks: asyncio.TaskGroup
    ) -> AnyFinding:
        async def publish(finding: AnyFinding) -> None:
            failpoints.reach("stage.before-progress")
            await self._report(work, incoming, finding)
            failpoints.reach("stage.after-progress")

        sending: set[asyncio.Task[None]] = set()

        async def report(finding: AnyFinding) -> None:
            """Send *finding* while the stage goes on, at most one message ahead of the bus."""
            if sending:
                await asyncio.wait(sending)
            sent = tasks.create_task(publish(finding))
            sending.add(sent)
            sent.add_done_callback(sending.discard)

        finding = await self._attempt(work, report)
        if why := wrong_result(finding, work):
            log.error("finding_refused", stage=work.stage, lookup=work.lookup, why=why)
            return Failed(why="bug", retryable=False)
        return finding

    async def _attempt(self, work: Work, report: Report) -> AnyFinding:
        """Return the answer of the stage, or how its attempt failed."""
        budget = STAGES[work.stage].budget
        try:
            # One mail domain is asked by one at a time, for whatever lookup.
            async with (
                until(work.deadline_at, self._clock),
                self._locks.of(work.item or work.lookup),
                until(self._clock.now() + budget, self._clock),
            ):
                left = min(work.deadline_at - self._clock.now(), budget)
                ends_at = asyncio.get_running_loop().time() + left.total_seconds()
                token = ATTEMPT_ENDS_AT.set(ends_at)
                try:
                    with set_current_lookup(work.lookup):
                        return await self._stage.handle(work, report)
                finally:
                    ATTEMPT_ENDS_AT.reset(token)
        except TimeoutError:
            log.warning("stage_timed_out", stage=work.stage, lookup=work.lookup)
            return Failed(why="timeout", retryable=True)
        except Exception as error:  # noqa: BLE001
            # The top of a stage: its bug must not take the other work with it.  Without the
            # error's words, which may name a person of the work.
            why, at = type(error).__name__, raised_at(error, _FUNCTIONS)
            log.error("stage_bug", stage=work.stage, lookup=work.lookup, why=why, at=at)  # noqa: TRY400
            return Failed(why="bug", retryable=work.attempt < 2)

    def _message(self, work: Work, finding: AnyFinding) -> tuple[Outcome, bytes]:
        """Return *finding* as a message, without what its readers would refuse.

        Raises:
            Exception: What is left of it is no message.
        """
        outcome = Outcome(
            lookup=work.lookup,
            stage=work.stage,
            item=work.item,
            attempt=self._in_flight.get((work.lookup, work.item), work.attempt),
            finding=finding,
            receipt=work.receipt,
        )
        try:
            return outcome, _readable(outcome)
        except Exception:  # noqa: BLE001  most fit as they are; of a plug-in's anything may not
            outcome = replace(outcome, finding=fitted(finding))
        value = encode(outcome)
        if len(value) > MESSAGE_MAX:  # no bus would ever take it
            share = MESSAGE_MAX / len(value)
            outcome = replace(outcome, finding=lighter(outcome.finding, share))
        return outcome, _readable(outcome)

    async def _send_heartbeats(self, work: Work, incoming: Mapping[str, str]) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_EVERY_S)
            await self._report(work, incoming, Alive())

    async def _report_result(
        self, work: Work, incoming: Mapping[str, str], finding: AnyFinding
    ) -> None:
        """Publish *finding*, which ends the work, as long as a lookup may wait for it."""
        least = self._clock.now() + timedelta(seconds=RESULT_S)
        until_ = max(work.deadline_at, least)
        while not await self._report(work, incoming, finding):
            if self._clock.now() >= until_:
                log.error("result_given_up", lookup=work.lookup, stage=work.stage)
                return
            await asyncio.sleep(RETRY_S)

    async def _report(
        self, work: Work, incoming: Mapping[str, str], finding: AnyFinding
    ) -> bool:
        """Publish *finding*; return whether the bus accepted it."""
        try:
            outcome, value = self._message(work, finding)
        except Exception as error:  # noqa: BLE001  a plug-in is not our code
            where = error.where if isinstance(error, BeyondLimits) else type(error).__name__
            # Without its words, which may name a person.
            log.error("finding_unfit", lookup=work.lookup, stage=work.stage, where=where)  # noqa: TRY400
            if isinstance(finding, BEFORE_RESULT):
                return True
            outcome, value = self._message(work, Failed(why="bug", retryable=False))
        headers = outcome_headers(outcome, work, incoming, at=self._clock.now())
        key = work.lookup.encode()
        try:
            await self._bus.publish(OUTCOMES, key=key, value=value, headers=headers)
        except BusUnavailable as error:
            # Must not take the other work with it.
            log.warning(
                "outcome_not_published", lookup=work.lookup, stage=work.stage, why=str(error)
            )
            return False
        return True


def _readable(outcome: Outcome) -> bytes:
    """Return *outcome* as a message that its readers take.

    Raises:
        Exception: They would not.
    """
    value = encode(outcome)
    if len(value) > MESSAGE_MAX:
        raise BeyondLimits("finding")
    decode_outcome(value)
    return value


def _ending(finding: AnyFinding) -> str:
    """Return how an attempt ended, one of four words."""
    if not isinstance(finding, Failed):
        return "result"
    return finding.why if finding.why in {"timeout", "bug"} else "failed"
