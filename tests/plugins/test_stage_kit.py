"""The kit for stages goes red for each way in which a stage can be wrong."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec
import pytest
from msgspec.structs import replace

from cs.plugins.contracts import kit as every_kit
from cs.plugins.contracts import stage as kit
from cs.plugins.contracts.stage import StageCase, StageContract
from cs.plugins.isolated import IsolatedStage
from cs.plugins.stages import (
    AnyFinding,
    BrandFacts,
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
from pipeline.test_stage_contract import ACME, ADA, work

CONTRACT = StageContract()


@dataclass
class Wrong:
    """A stage that is wrong as the test says."""

    do: Callable[[Work, Report, "Wrong"], Awaitable[AnyFinding]]
    name: StageName = "ranking"
    seen: list[str] = field(default_factory=list)

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        return await self.do(work, report, self)


def case(do: Callable[[Work, Report, Wrong], Awaitable[AnyFinding]]) -> StageCase:
    given = (RankingInput(ACME, (ADA,)), RankingInput(ACME, ()))
    stage = Wrong(do)
    return StageCase(stage, work("ranking", *given), broken=(stage,), silent=stage)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kit, "ANSWER_S", 2.0)


async def _result_of_another(_: Work, __: Report, ___: Wrong) -> AnyFinding:
    return Resolved(status="no_match")


async def _nothing(_: Work, __: Report, ___: Wrong) -> AnyFinding:
    return None  # type: ignore[return-value]


@pytest.mark.parametrize("do", [_result_of_another, _nothing])
async def test_what_is_no_result_of_the_stage(
    do: Callable[[Work, Report, Wrong], Awaitable[AnyFinding]],
) -> None:
    with pytest.raises((AssertionError, msgspec.ValidationError)):
        await CONTRACT.test_work_is_answered_with_a_result_of_the_stage(case(do))


async def test_an_answer_that_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    async def do(_: Work, __: Report, ___: Wrong) -> AnyFinding:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(kit, "ANSWER_S", 0.2)
    with pytest.raises((AssertionError, TimeoutError)):
        await CONTRACT.test_work_is_answered_with_a_result_of_the_stage(case(do))


async def test_progress_that_is_not_its_own() -> None:
    async def do(_: Work, report: Report, __: Wrong) -> AnyFinding:
        await report(PeopleSeen(people=()))
        return RankingDone(ranked=())

    with pytest.raises(AssertionError):
        await CONTRACT.test_whatever_it_says_on_the_way_is_its_own_to_say(case(do))


async def test_an_answer_that_depends_on_what_came_before() -> None:
    async def do(work: Work, _: Report, stage: Wrong) -> AnyFinding:
        stage.seen.append(work.lookup)
        return RankingDone(ranked=(), left_out=(LeftOut("p1", f"seen-{len(stage.seen)}"),))

    with pytest.raises(AssertionError):
        await CONTRACT.test_work_that_comes_again_is_answered_the_same(case(do))


async def test_an_answer_that_depends_on_other_work_at_the_same_time() -> None:
    async def do(work: Work, _: Report, stage: Wrong) -> AnyFinding:
        stage.seen.append(work.lookup)
        await asyncio.sleep(0)
        last, stage.seen = stage.seen, []
        return RankingDone(ranked=(), left_out=(LeftOut("p1", f"with-{len(last)}"),))

    with pytest.raises(AssertionError):
        await CONTRACT.test_work_at_once_is_answered_as_one_after_the_other(case(do))


async def test_hostile_text_that_raises() -> None:
    async def do(work: Work, _: Report, __: Wrong) -> AnyFinding:
        assert isinstance(work.input, RankingInput)
        brand: BrandFacts = work.input.brand
        brand.name.encode("ascii")
        return RankingDone(ranked=())

    with pytest.raises(UnicodeEncodeError):
        await CONTRACT.test_hostile_text_in_work_is_answered(case(do))


@pytest.mark.slow
async def test_work_that_blocks_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def do(_: Work, __: Report, ___: Wrong) -> AnyFinding:
        time.sleep(0.5)  # noqa: ASYNC251  that is what is wrong with it
        return RankingDone(ranked=())

    monkeypatch.setattr(every_kit, "BLOCKED_S", 0.3)
    with pytest.raises(AssertionError, match="blocked the event loop"):
        await CONTRACT.test_work_is_answered_with_a_result_of_the_stage(case(do))


async def test_work_that_does_not_end_when_it_is_cancelled() -> None:
    async def do(_: Work, __: Report, ___: Wrong) -> AnyFinding:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return RankingDone(ranked=())
        raise AssertionError

    with pytest.raises(AssertionError):
        await CONTRACT.test_at_its_deadline_work_ends(case(do))


@pytest.mark.parametrize(
    "finding",
    [
        RankingDone(ranked=()),
        Failed(why="HTTP 500 for Ada Kern", retryable=True),
        Failed(why="away", retryable=True, causes={"weights": "Ada Kern is unknown"}),
    ],
)
async def test_an_outage_that_reads_as_an_answer_or_names_people(finding: AnyFinding) -> None:
    async def do(_: Work, __: Report, ___: Wrong) -> AnyFinding:
        return finding

    with pytest.raises(AssertionError):
        await CONTRACT.test_a_service_out_of_order_is_a_failure_and_never_an_empty_result(
            case(do)
        )


async def test_what_a_stage_raises_is_a_failure_of_this_work() -> None:
    async def do(_: Work, __: Report, ___: Wrong) -> AnyFinding:
        raise SystemExit(1)

    given = case(do)
    for attempt, retryable in ((1, True), (2, False)):
        again = replace(given.work[0], attempt=attempt)
        found = await IsolatedStage(given.stage).handle(again, _unreported)
        assert found == Failed(why="bug", retryable=retryable)


async def _unreported(finding: AnyFinding) -> None:
    raise AssertionError(finding)
