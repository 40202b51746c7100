"""The contract kits fail a plug-in for each way in which it can be wrong."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from cs.plugins.contracts import kit
from cs.plugins.contracts import stage as stage_kit
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.contracts.stage import StageCase, StageContract
from cs.plugins.contracts.verifier import VerifierCase, VerifierContract
from cs.plugins.isolated import IsolatedStage
from cs.plugins.sources import BrandAnswer, PeopleAnswer, Query, SourceStatus
from cs.plugins.stages import (
    AnyFinding,
    Failed,
    LeftOut,
    PeopleSeen,
    RankingDone,
    RankingInput,
    Report,
    Resolved,
    StageName,
    Work,
)
from cs.plugins.verifiers import DomainFacts, Evidence, Verdict
from pipeline.test_stage_contract import ACME, ADA, work

DONE = RankingDone(ranked=())


async def _never() -> None:
    await asyncio.Event().wait()


async def _blocks() -> None:
    time.sleep(0.2)  # noqa: ASYNC251  that is what is wrong with it


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage_kit, "SHORT_S", 0.1)
    monkeypatch.setattr(kit, "TEST_S", 0.5)
    monkeypatch.setattr(kit, "BLOCKED_S", 0.1)


# Stages.


@dataclass
class WrongStage:
    """A stage that is wrong as the test says."""

    do: Callable[[Work, Report, "WrongStage"], Awaitable[AnyFinding]]
    name: StageName = "ranking"
    seen: list[str] = field(default_factory=list)

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        return await self.do(work, report, self)


Do = Callable[[Work, Report, WrongStage], Awaitable[AnyFinding]]


def case_of(do: Do) -> StageCase:
    given = (RankingInput(ACME, (ADA,)), RankingInput(ACME, ()))
    stage = WrongStage(do)
    return StageCase(stage, work("ranking", *given), broken={"any": stage}, silent=stage)


def answering(finding: Any) -> Do:
    async def do(_: Work, __: Report, ___: WrongStage) -> AnyFinding:
        return finding  # type: ignore[no-any-return]

    return do


async def _never_answers(_: Work, __: Report, ___: WrongStage) -> AnyFinding:
    await _never()
    return DONE


async def _blocks_the_loop(_: Work, __: Report, ___: WrongStage) -> AnyFinding:
    await _blocks()
    return DONE


async def _reports_for_another(_: Work, report: Report, __: WrongStage) -> AnyFinding:
    await report(PeopleSeen(people=()))
    return DONE


async def _depends_on_what_came_before(work: Work, _: Report, stage: WrongStage) -> AnyFinding:
    stage.seen.append(work.lookup)
    return RankingDone(ranked=(), left_out=(LeftOut("p1", f"seen-{len(stage.seen)}"),))


async def _depends_on_other_work(work: Work, _: Report, stage: WrongStage) -> AnyFinding:
    stage.seen.append(work.lookup)
    await asyncio.sleep(0)
    last, stage.seen = stage.seen, []
    return RankingDone(ranked=(), left_out=(LeftOut("p1", f"with-{len(last)}"),))


async def _raises_on_hostile_text(work: Work, _: Report, __: WrongStage) -> AnyFinding:
    assert isinstance(work.input, RankingInput)
    work.input.brand.name.encode("ascii")
    return DONE


async def _goes_on_when_cancelled(_: Work, __: Report, ___: WrongStage) -> AnyFinding:
    try:
        await _never()
    except asyncio.CancelledError:
        return DONE
    raise AssertionError


RULES = StageContract()
IS_A_RESULT = RULES.test_work_is_answered_with_a_result_of_the_stage
OUT_OF_ORDER = RULES.test_a_service_out_of_order_is_a_failure_and_never_an_empty_result
#: What a stage does, the test of the kit that notices it, and what that says.
WRONG_STAGES: list[tuple[Do, Callable[[StageCase], Awaitable[None]], str]] = [
    (answering(Resolved(status="no_match")), IS_A_RESULT, "the result of ranking"),
    (answering(None), IS_A_RESULT, "got `null` - at `[$].finding`"),
    (_never_answers, IS_A_RESULT, "did not answer"),
    (_blocks_the_loop, IS_A_RESULT, "blocked the event loop"),
    (
        _reports_for_another,
        RULES.test_whatever_it_says_on_the_way_is_its_own_to_say,
        "findings of this stage",
    ),
    (
        _depends_on_what_came_before,
        RULES.test_work_that_comes_again_is_answered_the_same,
        "the same work",
    ),
    (
        _depends_on_other_work,
        RULES.test_work_at_once_is_answered_as_one_after_the_other,
        "one after the other",
    ),
    (_raises_on_hostile_text, RULES.test_hostile_text_in_work_is_answered, "ascii"),
    (_goes_on_when_cancelled, RULES.test_at_its_deadline_work_ends, "is that swallowed"),
    (answering(DONE), OUT_OF_ORDER, "never a result"),
    (answering(Failed(why="500 for Ada Kern", retryable=True)), OUT_OF_ORDER, "stable word"),
    (
        answering(Failed(why="away", retryable=True, causes={"x": "Ada Kern is unknown"})),
        OUT_OF_ORDER,
        "name no person",
    ),
]


@pytest.mark.parametrize(("do", "rule", "said"), WRONG_STAGES)
async def test_a_wrong_stage_fails_the_kit(
    do: Do, rule: Callable[[StageCase], Awaitable[None]], said: str
) -> None:
    wrong = (AssertionError, TimeoutError, UnicodeEncodeError, msgspec.ValidationError)
    with pytest.raises(wrong, match=said):
        await rule(case_of(do))


async def test_what_a_stage_raises_is_a_failure_of_this_work() -> None:
    async def do(_: Work, __: Report, ___: WrongStage) -> AnyFinding:
        raise SystemExit(1)

    async def report(finding: AnyFinding) -> None:
        raise AssertionError(finding)

    given = case_of(do)
    for attempt, retryable in ((1, True), (2, False)):
        again = replace(given.work[0], attempt=attempt)
        found = await IsolatedStage(given.stage).handle(again, report)
        assert found == Failed(why="bug", retryable=retryable)


# Sources and verifiers.


class Wrong:
    """A source of either kind, and a verifier, that wait as the test says."""

    name, cost = "wrong", 0

    def __init__(self, wait: Callable[[], Awaitable[None]]) -> None:
        self._wait = wait

    async def find(self, asked: object, *_: Any, **__: Any) -> Any:
        await self._wait()
        kind = BrandAnswer if isinstance(asked, Query) else PeopleAnswer
        return kind(source=self.name, ended=SourceStatus.NO_RESULTS)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[Any]:
        del mail_domain
        self.learned = known
        yield self

    async def check(self, address: str) -> Evidence:
        await self._wait()
        now = datetime.now(UTC)
        return Evidence(
            address=address, verdict=Verdict.UNKNOWN, reason="r", verifier=self.name, at=now
        )


async def _as_brand_source(wrong: Any) -> None:
    case = BrandSourceCase(wrong, Query("Acme"), Query("None"), {})
    await BrandSourceContract().test_what_it_does_not_know_is_no_result(case)


async def _as_people_source(wrong: Any) -> None:
    case = PeopleSourceCase(wrong, ACME, ACME, {})
    await PeopleSourceContract().test_what_it_does_not_know_is_no_result(case)


async def _as_verifier(wrong: Any) -> None:
    at = "acme.test"
    case = VerifierCase(wrong, at, f"jo@{at}", f"no@{at}", at)
    await VerifierContract().test_no_answer_is_unknown_and_never_raises(case)


@pytest.mark.parametrize(
    ("wait", "said"), [(_never, "did not answer"), (_blocks, "blocked the event loop")]
)
@pytest.mark.parametrize("tried", [_as_brand_source, _as_people_source, _as_verifier])
async def test_one_that_never_answers_or_blocks_the_loop_fails_the_kit(
    tried: Callable[[Any], Awaitable[None]], wait: Callable[[], Awaitable[None]], said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        await tried(Wrong(wait))
