"""A stage between its topic and the outcomes, and the relay that feeds the topic."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

from cs.bus.errors import BusUnavailable
from cs.bus.headers import root_place, work_headers
from cs.bus.memory import MemoryBus
from cs.bus.port import NO_HEADERS, Record
from cs.bus.topics import (
    DEAD_LETTERS,
    OUTCOMES,
    STAGE_TOPICS,
    decode_outcome,
    decode_work,
    encode,
    work_key,
)
from cs.domain.brand.events import StageIssued
from cs.domain.contact import BrandFacts, CheckedPerson, Query
from cs.domain.lookup.contacts import is_proved
from cs.domain.mail.mailbox import Evidence, Line, Verdict
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import (
    Alive,
    AnyFinding,
    DomainVerified,
    Failed,
    Outcome,
    PeopleSeen,
    RankingDone,
    RankingInput,
    ResolutionInput,
    Resolved,
    StageName,
    VerificationInput,
    Work,
)
from cs.eventlog.port import NO_STREAM, Append
from cs.pipeline import runner
from cs.pipeline.relay import relay
from cs.pipeline.runner import Runner
from cs.plugins.stages import Report
from domain.golden_files import golden_event
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.receipted import RECEIPTS

AT = datetime(2026, 1, 1, tzinfo=UTC)
TOPIC = STAGE_TOPICS["brand-resolution"]
NO_MATCH = Resolved(status="no_match")


def work(lookup: str = "brand-a.1", attempt: int = 1, left_s: float = 60) -> Work:
    return Work(
        lookup=lookup,
        stage="brand-resolution",
        attempt=attempt,
        deadline_at=AT + timedelta(seconds=left_s),
        input=ResolutionInput(Query("Acme")),
    )


async def _no_match(_: Work, __: Report) -> AnyFinding:
    return NO_MATCH


@dataclass
class ScriptedStage:
    """A stage that does as the test says, and notes what it was given."""

    do: Callable[[Work, Report], Awaitable[AnyFinding]] = _no_match
    name: StageName = "brand-resolution"
    given: list[Work] = field(default_factory=list)

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        self.given.append(work)
        return await self.do(work, report)


class Side:
    """The bus as the other side sees it."""

    def __init__(self, bus: MemoryBus | None = None) -> None:
        groups = [(TOPIC, "brand-resolution"), (OUTCOMES, "test"), (DEAD_LETTERS, "test")]
        self.bus = bus or MemoryBus(groups)
        self.clock = ManualClock(AT)

    @asynccontextmanager
    async def running(self, stage: ScriptedStage, *, drain_s: float = 0) -> AsyncIterator[None]:
        runner = Runner(stage, self.bus, self.clock, drain_s=drain_s)
        task = asyncio.create_task(runner.run())
        try:
            yield
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def give(self, *works: Work) -> None:
        for each in works:
            await self.bus.publish(TOPIC, key=work_key(each), value=encode(each))

    async def records(self, count: int, topic: str = OUTCOMES) -> list[Record]:
        taken: list[Record] = []
        async with asyncio.timeout(10), self.bus.subscribe(topic, group="test") as records:
            async for record in records:
                await records.commit(record)
                taken.append(record)
                if len(taken) == count:
                    break
        return taken

    async def outcomes(self, count: int) -> list[Outcome]:
        return [decode_outcome(record.value) for record in await self.records(count)]


async def test_an_outcome_goes_on_in_the_trace_of_its_work() -> None:
    async def in_steps(_: Work, report: Report) -> AnyFinding:
        await report(PeopleSeen(()))
        return NO_MATCH

    parent = f"00-{'4b' * 16}-{'0f' * 8}-01"
    side = Side()
    async with side.running(ScriptedStage(in_steps)):
        each = work()
        headers = {"traceparent": parent}
        await side.bus.publish(TOPIC, key=b"", value=encode(each), headers=headers)
        await side.bus.publish(TOPIC, key=b"", value=encode(work("brand-b.1")))
        traced = await side.records(4)

    of_both = [
        {r.headers["traceparent"] for r in traced if r.key == key}
        for key in (b"brand-a.1", b"brand-b.1")
    ]
    assert of_both == [{parent}, {root_place("brand-b.1")}]
    assert {r.headers["schema"] for r in traced} == {"cs.outcome.v1"}


@pytest.mark.parametrize(("attempt", "again"), [(1, True), (2, False), (3, False)])
async def test_a_bug_is_answered_and_tried_once_more(attempt: int, again: bool) -> None:
    async def broken(_: Work, __: Report) -> AnyFinding:
        raise ZeroDivisionError

    side = Side()
    async with side.running(ScriptedStage(broken)):
        await side.give(work(attempt=attempt), work("brand-b.1", attempt=attempt))
        found = await side.outcomes(2)

    assert [each.finding for each in found] == [Failed(why="bug", retryable=again)] * 2


async def test_the_log_line_of_a_bug_says_where_it_is_and_nobody_s_name() -> None:
    async def broken(_: Work, __: Report) -> AnyFinding:
        raise KeyError("Jane Doe") from ValueError("jane.doe@acme.test")

    side = Side()
    with capture_logs([format_exc_info]) as logs:
        async with side.running(ScriptedStage(broken)):
            await side.give(work())
            await side.outcomes(1)

    (bug,) = (each for each in logs if each["event"] == "stage_bug")
    assert (bug["lookup"], bug["why"]) == ("brand-a.1", "KeyError")
    assert "test_runner.py" in bug["at"]
    for person in ("jane", "doe"):
        assert person not in json.dumps(bug).lower()


@pytest.mark.parametrize("answer", [None, PeopleSeen(people=()), RankingDone(ranked=())])
async def test_what_is_no_result_of_the_stage_is_refused_at_once(answer: Any) -> None:
    async def wrong(_: Work, __: Report) -> AnyFinding:
        return answer  # type: ignore[no-any-return]

    side = Side()
    with capture_logs() as logs:
        async with side.running(ScriptedStage(wrong)):
            await side.give(work())
            (found,) = await side.outcomes(1)

    assert found.finding == Failed(why="bug", retryable=False)
    (refused,) = (each for each in logs if each["event"] == "finding_refused")
    assert refused["stage"] == "brand-resolution"
    assert refused["why"].startswith(type(answer).__name__)


async def test_an_attempt_has_no_more_time_than_the_budget_of_its_stage() -> None:
    begun = asyncio.Event()

    async def hangs(_: Work, __: Report) -> AnyFinding:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    side = Side()
    async with side.running(ScriptedStage(hangs)):
        await side.give(work(left_s=3_600))
        await asyncio.wait_for(begun.wait(), 5)
        side.clock.set(AT + STAGES["brand-resolution"].budget)
        (ended,) = await side.outcomes(1)

    assert ended.finding == Failed(why="timeout", retryable=True)


async def test_work_is_ended_at_its_deadline() -> None:
    async def hangs(_: Work, __: Report) -> AnyFinding:
        await asyncio.Event().wait()
        raise AssertionError

    side = Side()
    async with side.running(ScriptedStage(hangs)):
        await side.give(work(left_s=30), work("brand-late.1", left_s=-5))
        (late,) = await side.outcomes(1)
        side.clock.set(AT + timedelta(seconds=30))
        (ended,) = await side.outcomes(1)

    timed_out = Failed(why="timeout", retryable=True)
    assert (late.lookup, late.finding) == ("brand-late.1", timed_out)
    assert (ended.lookup, ended.finding) == ("brand-a.1", timed_out)


async def test_heartbeats_come_while_work_is_in_flight_and_stop_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "HEARTBEAT_EVERY_S", 0.001)
    done = asyncio.Event()

    async def waits(_: Work, __: Report) -> AnyFinding:
        await done.wait()
        return NO_MATCH

    side = Side()
    async with side.running(ScriptedStage(waits)):
        await side.give(work())
        alive = await side.outcomes(3)
        done.set()
        while not isinstance((await side.outcomes(1))[0].finding, Resolved):
            pass
        await side.give(work("brand-b.1"))
        (last,) = await side.outcomes(1)

    assert {type(each.finding) for each in alive} == {Alive}
    assert last.lookup == "brand-b.1"


async def test_a_duplicate_of_what_is_in_flight_is_dropped_and_answered_with_it() -> None:
    go = asyncio.Event()

    async def waits(_: Work, __: Report) -> AnyFinding:
        await go.wait()
        return NO_MATCH

    side, stage = Side(), ScriptedStage(waits)
    async with side.running(stage):
        await side.give(work(), work(), work(attempt=2), work("brand-b.1"))
        await _until(lambda: len(stage.given) == 2)
        go.set()
        outcomes = await side.outcomes(2)
        await side.give(work())  # not in hand any more
        await side.outcomes(1)

    assert {(o.lookup, o.attempt) for o in outcomes} == {("brand-a.1", 2), ("brand-b.1", 1)}
    assert [(w.lookup, w.attempt) for w in stage.given] == [
        ("brand-a.1", 1),
        ("brand-b.1", 1),
        ("brand-a.1", 1),
    ]


async def test_one_mail_domain_is_asked_for_one_lookup_at_a_time() -> None:
    going: list[str] = []
    most: list[int] = []

    async def counts(work: Work, _: Report) -> AnyFinding:
        going.append(work.lookup)
        most.append(len(going))
        await _turns(1)
        going.remove(work.lookup)
        return NO_MATCH

    topic, domain = STAGE_TOPICS["verification"], "acme.example"
    side = Side(MemoryBus([(topic, "verification"), (OUTCOMES, "test")]))
    async with side.running(ScriptedStage(counts, name="verification")):
        asked = VerificationInput(domain, ())
        for n in range(4):
            one = replace(work(f"brand-{n}.1"), stage="verification", item=domain, input=asked)
            await side.bus.publish(topic, key=work_key(one), value=encode(one))
        await side.outcomes(4)

    assert most == [1, 1, 1, 1]


async def test_only_so_much_is_in_flight_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "MAX_IN_FLIGHT", 2)
    go = asyncio.Event()

    async def waits(_: Work, __: Report) -> AnyFinding:
        await go.wait()
        return NO_MATCH

    side, stage = Side(), ScriptedStage(waits)
    async with side.running(stage):
        await side.give(*(work(f"brand-{n}.1") for n in range(5)))
        await _until(lambda: len(stage.given) == 2)
        await _turns(20)
        assert len(stage.given) == 2
        go.set()
        await side.outcomes(5)

    assert len(stage.given) == 5


@pytest.mark.parametrize(
    "value", [b"", b"\xff", b"[]", b'{"lookup":1}', b'{"x":' + b"[" * 99_999]
)
async def test_what_cannot_be_read_is_kept_and_the_rest_goes_on(value: bytes) -> None:
    side = Side()
    async with side.running(ScriptedStage()):
        await side.bus.publish(TOPIC, key=b"k", value=value)
        await side.give(work())
        (letter,) = await side.records(1, DEAD_LETTERS)
        (answer,) = await side.outcomes(1)

    assert (letter.key, letter.value) == (b"k", value)
    assert (letter.headers["topic"], letter.headers["offset"]) == (TOPIC, "0")
    assert answer.finding == NO_MATCH


class FullBus(MemoryBus):
    """A bus that takes no outcomes for a while."""

    def __init__(self) -> None:
        super().__init__([(TOPIC, "brand-resolution"), (OUTCOMES, "test")])
        self.refusals = 0

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if topic == OUTCOMES and self.refusals:
            self.refusals -= 1
            raise BusUnavailable("full")
        await super().publish(topic, key=key, value=value, headers=headers)


async def test_a_result_that_the_bus_does_not_take_is_offered_until_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And harms no other work meanwhile."""
    monkeypatch.setattr(runner, "RETRY_S", 0.001)
    bus = FullBus()
    side = Side(bus)
    async with side.running(ScriptedStage()):
        bus.refusals = 5
        await side.give(work("brand-late.1"), work("brand-soon.1"))
        outcomes = await side.outcomes(2)

    assert {outcome.lookup for outcome in outcomes} == {"brand-late.1", "brand-soon.1"}
    assert bus.refusals == 0


async def test_a_result_is_given_up_when_nobody_waits_for_it_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "RETRY_S", 0.001)
    bus = FullBus()
    side = Side(bus)
    async with side.running(ScriptedStage()):
        bus.refusals = 1_000_000
        await side.give(work("brand-lost.1", left_s=60))
        await _until(lambda: bus.refusals < 999_990)
        assert side.bus is bus
        with capture_logs() as logs:
            side.clock.set(AT + timedelta(seconds=60))
            await _until(lambda: any(each["event"] == "result_given_up" for each in logs))
        bus.refusals = 0
        await side.give(work("brand-next.1", left_s=120))
        (outcome,) = await side.outcomes(1)

    assert outcome.lookup == "brand-next.1"


# The relay.


async def test_the_relay_publishes_issued_work_in_order_and_nothing_else() -> None:
    names = ["", "+discovery", "+ranking", "+verification"]
    issued = [golden_event(f"brand.stage-issued.v1{name}") for name in names]
    topics = list(STAGE_TOPICS.values())
    bus = MemoryBus([(topic, "test") for topic in topics])
    log = MemoryEventLog(MemoryKeyStore())
    await log.append([Append("brand-old", NO_STREAM, issued)])
    relaying = asyncio.create_task(relay(log, bus, after=4, receipts=RECEIPTS))
    events = [
        golden_event("brand.lookup-started.v1"),
        *issued,
        golden_event("brand.resolved.v1"),
    ]
    await log.append([Append("brand-5f0c", NO_STREAM, events)])

    for event, topic in zip(issued, topics, strict=True):
        (record,) = await Side(bus).records(1, topic)
        assert isinstance(event, StageIssued)
        message = decode_work(record.value)
        assert (message.lookup, message.stage, message.attempt) == (
            event.lookup,
            event.stage,
            event.attempt,
        )
        assert (message.input, message.deadline_at) == (event.input, event.deadline_at)
        assert record.key == (event.item or event.lookup).encode()
        assert record.headers == work_headers(message)
    relaying.cancel()
    await asyncio.gather(relaying, return_exceptions=True)


class OnePartitionDead(MemoryBus):
    """Takes nothing of the keys in *dead*."""

    def __init__(self, *groups: tuple[str, str], dead: frozenset[bytes]) -> None:
        super().__init__(groups)
        self.dead = dead

    async def publish(self, topic: str, *, key: bytes, **record: Any) -> None:
        if key in self.dead:
            raise BusUnavailable("the partition has no leader")
        await super().publish(topic, key=key, **record)


async def test_one_dead_partition_holds_up_no_other_work_and_the_checkpoint_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.pipeline.relay.RETRY_S", 0.001)
    bus = OnePartitionDead((TOPIC, "test"), dead=frozenset({b"brand-dead.1"}))
    log = MemoryEventLog(MemoryKeyStore())
    issued = golden_event("brand.stage-issued.v1")
    assert isinstance(issued, StageIssued)

    def of(lookup: str, attempt: int = 1) -> StageIssued:
        late = AT + timedelta(seconds=120)
        return replace(issued, lookup=lookup, attempt=attempt, deadline_at=late)

    kept: list[int] = []

    async def keep(position: int) -> None:
        kept.append(position)

    clock = ManualClock(AT)
    await log.append([Append("brand-x", NO_STREAM, [of("brand-a.1"), of("brand-dead.1")])])
    relaying = asyncio.create_task(
        relay(log, bus, after=0, receipts=RECEIPTS, deadline_clock=clock, save_position=keep)
    )
    version = 1
    for n in range(3):  # pages that come after the dead one
        more = [of("brand-dead.1", 2 + n), of(f"brand-b{n}.1")]
        await log.append([Append("brand-x", version, more)])
        version += 2
        await Side(bus).records(1, TOPIC)
    await Side(bus).records(1, TOPIC)
    assert kept == [1]

    bus.dead = frozenset()
    again = await Side(bus).records(4, TOPIC)

    assert [decode_work(record.value).attempt for record in again] == [1, 2, 3, 4]
    await _until(lambda: kept[-1] == 8)
    relaying.cancel()
    await asyncio.gather(relaying, return_exceptions=True)


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await _turns(1)


async def _turns(count: int) -> None:
    """Let everything that can go on go on, *count* times."""
    for _ in range(count):
        await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])


class OneMebibyte(MemoryBus):
    """Takes records that Kafka takes as it comes."""

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if len(value) + 10_000 > 1_048_576:
            raise BusUnavailable("the message is too large")
        await super().publish(topic, key=key, value=value, headers=headers)


def long_evidence(person: str) -> CheckedPerson:
    """Return who was found, with as much evidence as a talkative server gives."""
    address = f"{person}@acme.example"
    said = tuple(Line(at_ms=0, who="S", text="x" * 500) for _ in range(13))
    evidence = Evidence(
        address=address,
        verdict=Verdict.DELIVERABLE,
        reason="recipient-accepted",
        verifier="smtp",
        at=AT,
        conversation=said,
    )
    return CheckedPerson(
        person=person,
        mail_domain="acme.example",
        verdict=Verdict.DELIVERABLE,
        address=address,
        verifier="smtp",
        evidence=(evidence,) * 6,
    )


@pytest.mark.parametrize("kind", [DomainVerified, Failed])
async def test_a_result_with_more_evidence_than_the_bus_takes_is_sent_with_less(
    kind: type[DomainVerified | Failed],
) -> None:
    checked = tuple(long_evidence(f"p{n}") for n in range(1, 101))

    async def finds(_: Work, __: Report) -> AnyFinding:
        if kind is DomainVerified:
            return DomainVerified(checked)
        return Failed(why="try-later", retryable=True, retry_in_s=60, checked=checked)

    topic, domain = STAGE_TOPICS["verification"], "acme.example"
    side = Side(OneMebibyte([(topic, "verification"), (OUTCOMES, "test")]))
    async with side.running(ScriptedStage(finds, name="verification")):
        asked = VerificationInput(domain, ())
        given = replace(work(), stage="verification", item=domain, input=asked)
        await side.bus.publish(topic, key=work_key(given), value=encode(given))
        (outcome,) = await side.outcomes(1)

    assert isinstance(outcome.finding, kind)
    assert len(outcome.finding.checked) == 100
    assert all(is_proved(each, ["smtp"]) for each in outcome.finding.checked)


async def test_work_of_another_stage_is_a_dead_letter() -> None:
    side, stage = Side(), ScriptedStage()
    other = replace(work(), stage="ranking", input=RankingInput(BrandFacts(name="Acme"), ()))
    async with side.running(stage):
        await side.give(other, work())
        await side.outcomes(1)
        (letter,) = await side.records(1, DEAD_LETTERS)

    assert (decode_work(letter.value), len(stage.given)) == (other, 1)


async def test_a_stopped_runner_finishes_what_is_in_flight_and_takes_no_more() -> None:
    go = asyncio.Event()

    async def waits(_: Work, __: Report) -> AnyFinding:
        await go.wait()
        return NO_MATCH

    side, stage = Side(), ScriptedStage(waits)
    running = asyncio.create_task(Runner(stage, side.bus, side.clock, drain_s=100).run())
    await side.give(work())
    await _until(lambda: len(stage.given) == 1)
    running.cancel()
    await _turns(20)
    await side.give(work("brand-b.1"))
    await _turns(20)
    assert not running.done()
    go.set()

    (outcome,) = await side.outcomes(1)
    await asyncio.wait([running])
    assert (outcome.lookup, len(stage.given)) == ("brand-a.1", 1)
