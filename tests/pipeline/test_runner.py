"""A stage between its topic and the outcomes, and the relay that feeds the topic."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.processors import format_exc_info
from structlog.testing import capture_logs

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
    PeopleSeen,
    RankingDone,
    RankingInput,
    ResolutionInput,
    Resolved,
    VerificationInput,
    Work,
)
from cs.plugins.stages import Report
from domain.acme_run import AT, HOME
from domain.golden_files import golden_event
from pipeline.loop import Loop, RefusingBus, ScriptedStage, message, turns, until

TOPIC = "cs.brand-resolution.v1"
NO_MATCH = Resolved(status="no_match")


def work(lookup: str = "brand-a.1", attempt: int = 1, left_s: float = 60) -> Work:
    return Work(
        lookup=lookup,
        stage="brand-resolution",
        attempt=attempt,
        deadline_at=AT + timedelta(seconds=left_s),
        input=ResolutionInput(Query("Acme")),
    )


def verification(lookup: str = "brand-a.1") -> Work:
    asked = VerificationInput(HOME, ())
    return replace(work(lookup), stage="verification", item=HOME, input=asked)


class Held:
    """A stage that answers once it may."""

    def __init__(self) -> None:
        self.may = asyncio.Event()
        self.stage = ScriptedStage(self._wait)
        self.given = self.stage.given

    async def _wait(self, _: Work, __: Report) -> AnyFinding:
        await self.may.wait()
        return NO_MATCH


@pytest.mark.parametrize(("attempt", "again"), [(1, True), (2, False), (3, False)])
async def test_a_bug_is_answered_and_tried_once_more_and_its_log_line_names_no_person(
    attempt: int, *, again: bool
) -> None:
    async def broken(_: Work, __: Report) -> AnyFinding:
        raise KeyError("Jane Doe") from ValueError("jane.doe@acme.test")

    loop = Loop()
    with capture_logs([format_exc_info]) as logs:
        async with loop.running(loop.stage(ScriptedStage(broken))):
            await loop.give(work(attempt=attempt), work("brand-b.1", attempt=attempt))
            found = await loop.outcomes(2)

    assert [each.finding for each in found] == [Failed(why="bug", retryable=again)] * 2
    bug, _ = (each for each in logs if each["event"] == "stage_bug")
    assert (bug["lookup"], bug["why"]) == ("brand-a.1", "KeyError")
    assert "test_runner.py" in bug["at"]
    for person in ("jane", "doe"):
        assert person not in json.dumps(bug).lower()


@pytest.mark.parametrize("answer", [None, PeopleSeen(people=()), RankingDone(ranked=())])
async def test_what_is_no_result_of_the_stage_is_refused_at_once(answer: Any) -> None:
    async def wrong(_: Work, __: Report) -> AnyFinding:
        return answer  # type: ignore[no-any-return]

    loop = Loop()
    with capture_logs() as logs:
        async with loop.running(loop.stage(ScriptedStage(wrong))):
            await loop.give(work())
            (found,) = await loop.outcomes(1)

    assert found.finding == Failed(why="bug", retryable=False)
    (refused,) = (each for each in logs if each["event"] == "finding_refused")
    assert refused["stage"] == "brand-resolution"
    assert refused["why"].startswith(type(answer).__name__)


@pytest.mark.parametrize(
    ("left_s", "ends_after"),
    [
        (-5, timedelta()),
        (30, timedelta(seconds=30)),
        (3_600, STAGES["brand-resolution"].budget),
    ],
)
async def test_an_attempt_ends_at_its_deadline_or_with_the_budget_of_its_stage(
    left_s: float, ends_after: timedelta
) -> None:
    loop, hangs = Loop(), Held()
    async with loop.running(loop.stage(hangs.stage)):
        await loop.give(work(left_s=left_s))
        await until(lambda: bool(hangs.given) or left_s < 0)
        loop.clock.set(AT + ends_after)
        (ended,) = await loop.outcomes(1)

    assert ended.finding == Failed(why="timeout", retryable=True)


async def test_heartbeats_come_while_work_is_in_flight_and_stop_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.pipeline.runner.HEARTBEAT_EVERY_S", 0.001)
    loop, held = Loop(), Held()
    async with loop.running(loop.stage(held.stage)):
        await loop.give(work())
        alive = await loop.outcomes(3)
        held.may.set()
        while not isinstance((await loop.outcomes(1))[0].finding, Resolved):
            pass
        await loop.give(work("brand-b.1"))
        (last,) = await loop.outcomes(1)

    assert {type(each.finding) for each in alive} == {Alive}
    assert last.lookup == "brand-b.1"


async def test_a_duplicate_of_what_is_in_flight_is_dropped_and_answered_with_it() -> None:
    loop, held = Loop(), Held()
    async with loop.running(loop.stage(held.stage)):
        await loop.give(work(), work(), work(attempt=2), work("brand-b.1"))
        await until(lambda: len(held.given) == 2)
        held.may.set()
        outcomes = await loop.outcomes(2)
        await loop.give(work())  # not in hand any more
        await loop.outcomes(1)

    assert {(o.lookup, o.attempt) for o in outcomes} == {("brand-a.1", 2), ("brand-b.1", 1)}
    assert [(w.lookup, w.attempt) for w in held.given] == [
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
        await turns(1)
        going.remove(work.lookup)
        return DomainVerified(())

    loop = Loop()
    async with loop.running(loop.stage(ScriptedStage(counts, name="verification"))):
        await loop.give(*(verification(f"brand-{n}.1") for n in range(4)))
        await loop.outcomes(4)

    assert most == [1, 1, 1, 1]


async def test_only_so_much_is_in_flight_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.pipeline.runner.MAX_IN_FLIGHT", 2)
    loop, held = Loop(), Held()
    async with loop.running(loop.stage(held.stage)):
        await loop.give(*(work(f"brand-{n}.1") for n in range(5)))
        await until(lambda: len(held.given) == 2)
        await turns(20)
        assert len(held.given) == 2
        held.may.set()
        await loop.outcomes(5)

    assert len(held.given) == 5


OTHER_STAGES = replace(work(), stage="ranking", input=RankingInput(BrandFacts(name="Acme"), ()))


@pytest.mark.parametrize(
    "value",
    [b"", b"\xff", b'{"lookup":1}', b'{"x":' + b"[" * 99_999, message(OTHER_STAGES)],
)
async def test_what_cannot_be_read_is_kept_and_the_rest_goes_on(value: bytes) -> None:
    loop, stage = Loop(), ScriptedStage()
    async with loop.running(loop.stage(stage)):
        await loop.put(TOPIC, value, b"k")
        await loop.give(work())
        (letter,) = await loop.letters(1)
        (answer,) = await loop.outcomes(1)

    assert (letter.key, letter.value) == (b"k", value)
    assert (letter.headers["topic"], letter.headers["offset"]) == (TOPIC, "0")
    assert (answer.finding, len(stage.given)) == (NO_MATCH, 1)


def no_outcomes(topic: str, _key: bytes, _value: bytes) -> bool:
    return topic == "cs.outcomes.v1"


@pytest.mark.usefixtures("quick_retries")
async def test_a_result_is_offered_until_the_bus_takes_it_or_no_lookup_waits_for_it() -> None:
    bus = RefusingBus(no_outcomes)
    loop = Loop(bus=bus)
    async with loop.running(loop.stage(ScriptedStage())):
        await loop.give(work("brand-lost.1", left_s=60), work("brand-late.1", left_s=120))
        await until(lambda: bus.refused > 10)
        with capture_logs() as logs:
            loop.clock.set(AT + timedelta(seconds=60))
            await until(lambda: any(each["event"] == "result_given_up" for each in logs))
        bus.refuses = lambda *_: False
        await loop.give(work("brand-next.1", left_s=120))
        outcomes = await loop.outcomes(2)

    assert {outcome.lookup for outcome in outcomes} == {"brand-late.1", "brand-next.1"}


def long_evidence(person: str) -> CheckedPerson:
    """Return who was found, with as much evidence as a talkative server gives."""
    address = f"{person}@{HOME}"
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
        mail_domain=HOME,
        verdict=Verdict.DELIVERABLE,
        address=address,
        verifier="smtp",
        evidence=(evidence,) * 6,
    )


@pytest.mark.parametrize("kind", [DomainVerified, Failed])
async def test_a_result_with_more_evidence_than_kafka_takes_is_sent_with_less(
    kind: type[DomainVerified | Failed],
) -> None:
    checked = tuple(long_evidence(f"p{n}") for n in range(1, 101))

    async def finds(_: Work, __: Report) -> AnyFinding:
        if kind is DomainVerified:
            return DomainVerified(checked)
        return Failed(why="try-later", retryable=True, retry_in_s=60, checked=checked)

    loop = Loop(bus=RefusingBus(lambda _topic, _key, value: len(value) + 10_000 > 1 << 20))
    async with loop.running(loop.stage(ScriptedStage(finds, name="verification"))):
        await loop.give(verification())
        (outcome,) = await loop.outcomes(1)

    assert isinstance(outcome.finding, kind)
    assert len(outcome.finding.checked) == 100
    assert all(is_proved(each, ["smtp"]) for each in outcome.finding.checked)


async def test_a_stopped_worker_finishes_what_is_in_flight_and_takes_no_more() -> None:
    loop, held = Loop(), Held()
    running = asyncio.create_task(loop.stage(held.stage, drain_s=100))
    await loop.give(work())
    await until(lambda: len(held.given) == 1)
    running.cancel()
    await turns(20)
    await loop.give(work("brand-b.1"))
    await turns(20)
    assert not running.done()
    held.may.set()

    (outcome,) = await loop.outcomes(1)
    await asyncio.wait([running])
    assert (outcome.lookup, len(held.given)) == ("brand-a.1", 1)


# The relay.


async def test_the_relay_publishes_issued_work_in_order_and_nothing_else() -> None:
    names = ["", "+discovery", "+ranking", "+verification"]
    issued = [golden_event(f"brand.stage-issued.v1{name}") for name in names]
    loop = Loop()
    await loop.append("brand-old", *issued)
    others = golden_event("brand.lookup-started.v1"), golden_event("brand.resolved.v1")
    async with loop.running(loop.relay(after=4)):
        await loop.append("brand-5f0c", others[0], *issued, others[1])
        for event in issued:
            assert isinstance(event, StageIssued)
            (record,) = await loop.records(1, STAGES[event.stage].topic)
            sent = json.loads(record.value)
            given = (event.lookup, event.stage, event.attempt)
            assert (sent["lookup"], sent["stage"], sent["attempt"]) == given
            assert record.key == (event.item or event.lookup).encode()
            ids = (event.lookup, event.stage, event.item, f"{event.attempt}", "work")
            assert record.headers["message-id"] == "/".join(ids)


@pytest.mark.usefixtures("quick_retries")
async def test_one_dead_partition_holds_up_no_other_work_and_the_position_waits_for_it() -> (
    None
):
    bus = RefusingBus(lambda _topic, key, _value: key == b"brand-dead.1")
    loop, saved = Loop(bus=bus), list[int]()
    issued = golden_event("brand.stage-issued.v1")
    assert isinstance(issued, StageIssued)
    late = replace(issued, deadline_at=AT + timedelta(seconds=120))

    def of(lookup: str, attempt: int = 1) -> StageIssued:
        return replace(late, lookup=lookup, attempt=attempt)

    await loop.append("brand-x", of("brand-a.1"), of("brand-dead.1"))
    async with loop.running(loop.relay(saved=saved)):
        for n in range(3):  # pages that come after the dead one
            await loop.append("brand-x", of("brand-dead.1", 2 + n), of(f"brand-b{n}.1"))
            await loop.records(1, TOPIC)
        await loop.records(1, TOPIC)
        assert saved == [1]

        bus.refuses = lambda *_: False
        again = await loop.records(4, TOPIC)
        assert [json.loads(record.value)["attempt"] for record in again] == [1, 2, 3, 4]
        await until(lambda: saved[-1] == 8)
