"""The rules for every stage, whatever its work.

A plug-in's test module inherits `StageContract` and gives a fixture ``case``:

```python
class TestRanking(StageContract):
    @pytest.fixture
    def case(self) -> StageCase: ...
```
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from cs.domain.stages.refused import wrong_result
from cs.domain.stages.table import STAGE_OF_FINDING, STAGES, extra_stage
from cs.plugins.contracts.kit import HOSTILE_NAMES, in_time
from cs.plugins.stages import (
    UNREADABLE,
    AnyFinding,
    Failed,
    Lookup,
    Outcome,
    Query,
    Stage,
    Work,
    decode_outcome,
    decode_work,
    encode,
)

#: How long one answer may take here; its outside is a stand-in.
ANSWER_S = 30.0
#: How long a stage whose service is silent runs before it is cancelled, and then to end.
SHORT_S = 0.5
#: A stable word: "sources-away".
_WORD = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
#: What may differ between two answers to the same work: when and how long.
_TIMES = frozenset({"at", "at_ms"})


class StageCase(NamedTuple):
    """Stages in the states that the contract speaks of.

    Attributes:
        stage: Works.
        work: Two or more pieces of its work, of several lookups, that it can do.
        broken: The same kind of stage, with its outside service in every odd state
            (`cs.plugins.contracts.stand_in.out_of_order` makes them); empty without a service.
        silent: The same, with an outside service that never answers; ``None`` likewise.
    """

    stage: Stage
    work: Sequence[Work]
    broken: Mapping[str, Stage] = {}
    silent: Stage | None = None


@in_time
class StageContract:
    """Inherit, and give a fixture ``case``."""

    pytestmark = pytest.mark.asyncio

    async def test_it_has_the_name_of_a_stage_and_the_case_its_work(
        self, case: StageCase
    ) -> None:
        assert case.stage.name in STAGES, (
            "its name is that of the stage whose work it does, or of the row of an extra stage "
            "(`pip install -e .` makes its entry point known)"
        )
        assert len({work.lookup for work in case.work}) >= 2, "work of two lookups or more"
        for work in case.work:
            assert work.stage == case.stage.name, "`work` of the case is work of this stage"
            assert decode_work(encode(work)) == work, "`work` of the case is a valid message"

    async def test_the_row_of_an_extra_stage_gives_nobody_of_a_run_that_found_nobody(
        self, case: StageCase
    ) -> None:
        row = extra_stage(case.stage.name)
        if row is not None:
            given = row.give(Lookup("brand-0a1b.1", Query("Acme"), datetime.now(UTC)))
            assert not any(given.values()), "`give` names people of the run alone"

    async def test_work_is_answered_with_a_result_of_the_stage(self, case: StageCase) -> None:
        for work in case.work:
            _check_result(await _answer(case.stage, work), work)

    async def test_whatever_it_says_on_the_way_is_its_own_to_say(self, case: StageCase) -> None:
        said: list[AnyFinding] = []
        for work in case.work:
            await _handled(case.stage, work, said)

        owners = {STAGE_OF_FINDING.get(type(finding), case.stage.name) for finding in said}
        assert owners <= {case.stage.name}, "findings of this stage and of no other"

    async def test_work_that_comes_again_is_answered_the_same(self, case: StageCase) -> None:
        for work in case.work:
            answers = [
                _without_times(await _answer(case.stage, replace(work, attempt=attempt)))
                for attempt in (1, 1, 2)
            ]

            assert answers == answers[:1] * 3, "the same work: the same answer"

    async def test_work_at_once_is_answered_as_one_after_the_other(
        self, case: StageCase
    ) -> None:
        alone = [_without_times(await _answer(case.stage, work)) for work in case.work]
        together = await asyncio.gather(*(_answer(case.stage, work) for work in case.work))

        assert list(map(_without_times, together)) == alone, (
            "work at once is answered as one after the other"
        )

    async def test_hostile_text_in_work_is_answered(self, case: StageCase) -> None:
        """Texts that a caller, a web page or another stage wrote arrive in its input."""
        spoilt = [
            each for work in case.work for text in HOSTILE_NAMES for each in _spoilt(work, text)
        ]
        assert spoilt
        for work in spoilt:
            await _handled(case.stage, work, [])  # the worker fits it into a message

    async def test_at_its_deadline_work_ends(self, case: StageCase) -> None:
        if case.silent is None:
            return
        asked = asyncio.create_task(_answer(case.silent, case.work[0]))
        await asyncio.wait({asked}, timeout=SHORT_S)
        asked.cancel()
        await asyncio.wait({asked}, timeout=SHORT_S)

        assert asked.cancelled(), "it ends when it is cancelled (is that swallowed?)"

    async def test_a_service_out_of_order_is_a_failure_and_never_an_empty_result(
        self, case: StageCase
    ) -> None:
        for state, stage in case.broken.items():
            for work in case.work:
                failed = await _answer(stage, work)

                assert isinstance(failed, Failed), f"{state}: Failed, never a result"
                assert _WORD.fullmatch(failed.why), f"{state}: `why` is a stable word"
                stated = str((failed.why, failed.causes))
                named = [name for name in _names_in(work) if name in stated]
                assert named == [], f"{state}: why and causes name no person"


async def _handled(stage: Stage, work: Work, said: list[AnyFinding]) -> AnyFinding:
    """Return what *stage* returns; its progress is added to *said*."""

    async def report(finding: AnyFinding) -> None:
        said.append(finding)

    deadline = datetime.now(UTC) + timedelta(seconds=ANSWER_S)
    async with asyncio.timeout(ANSWER_S):
        return await stage.handle(replace(work, deadline_at=deadline), report)


async def _answer(stage: Stage, work: Work) -> AnyFinding:
    """Return the answer of *stage* as it is read from a message.

    Raises:
        Exception: It is none that a message may hold.
    """
    outcome = Outcome(
        lookup=work.lookup,
        stage=work.stage,
        item=work.item,
        attempt=work.attempt,
        finding=await _handled(stage, work, []),
    )
    return decode_outcome(encode(outcome)).finding


def _check_result(found: AnyFinding, work: Work) -> None:
    result = STAGES[work.stage].result
    assert isinstance(found, result), f"the result of {work.stage} is a {result.__name__}"
    assert wrong_result(found, work) is None


def _without_times(finding: AnyFinding) -> Any:
    return _stripped(msgspec.to_builtins(finding))


def _stripped(value: Any) -> Any:
    match value:
        case dict():
            return {key: _stripped(part) for key, part in value.items() if key not in _TIMES}
        case list() | tuple():
            return [_stripped(part) for part in value]
        case _:
            return value


def _spoilt(work: Work, text: str) -> list[Work]:
    """Return *work* with *text* in place of each text of its input, where a message may."""
    found = []
    whole = msgspec.to_builtins(work, builtin_types=(datetime,))
    for way in _texts(whole["input"]):
        message = msgspec.json.decode(msgspec.json.encode(whole))
        place = message["input"]
        for step in way[:-1]:
            place = place[step]
        place[way[-1]] = text
        try:
            found.append(decode_work(msgspec.json.encode(message)))
        except UNREADABLE:
            continue
    return found


def _texts(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    match value:
        case str() if way[-1] not in {"type", "personal"}:
            return [way]
        case dict():
            return [path for key, part in value.items() for path in _texts(part, (*way, key))]
        case list() | tuple():
            return [path for n, part in enumerate(value) for path in _texts(part, (*way, n))]
        case _:
            return []


def _names_in(work: Work) -> list[str]:
    """Return the names of people in *work*."""
    people = getattr(work.input, "people", getattr(work.input, "candidates", ()))
    return [person.full_name for person in people if person.full_name]
