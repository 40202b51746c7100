"""What every stage does, whatever its work: fed from a topic by the worker that will run it.

A plug-in's test module inherits `StageContract` and gives a fixture ``case``:

```python
class TestRanking(StageContract):
    @pytest.fixture
    def case(self) -> StageCase: ...
```
"""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from cs.bus.memory import MemoryBus
from cs.bus.topics import DEAD_LETTERS
from cs.domain.stages.table import STAGE_OF_FINDING, STAGES, extra_stage
from cs.pipeline.runner import BEFORE_RESULT, Runner
from cs.plugins.contracts.kit import HOSTILE_NAMES, in_time
from cs.plugins.contracts.stand_in import named_states
from cs.plugins.isolated import IsolatedStage
from cs.plugins.stages import (
    OUTCOMES,
    STAGE_TOPICS,
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
from cs.runtime.clock import SystemClock

#: Values on the topic that are no work of any stage.
UNREADABLE_VALUES = (b"", b"{", b"null", b"[]", b"\xff\xfe", b"[" * 5_000, b'{"lookup": 1}')
#: How long one answer may take here; its outside is a stand-in.
ANSWER_S = 30.0
#: What a stage that is silent itself is given until its deadline.
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
    broken: Mapping[str, Stage] | Sequence[Stage] = ()
    silent: Stage | None = None


class Side:
    """The topics of one stage as the service sees them."""

    def __init__(self, stage: Stage) -> None:
        self._topic = STAGE_TOPICS[stage.name]
        groups = [(self._topic, stage.name), (OUTCOMES, "contract"), (DEAD_LETTERS, "contract")]
        self.bus = MemoryBus(groups)
        #: Every outcome that was read, heartbeats and progress too.
        self.outcomes: list[Outcome] = []

    async def send(self, value: bytes) -> None:
        await self.bus.publish(self._topic, key=b"", value=value)

    async def results(self, count: int) -> list[Outcome]:
        """Return the next *count* outcomes that end an attempt."""
        found: list[Outcome] = []
        async with asyncio.timeout(ANSWER_S), aclosing(self._read(OUTCOMES)) as values:
            async for value in values:
                outcome = decode_outcome(value)
                self.outcomes.append(outcome)
                if not isinstance(outcome.finding, BEFORE_RESULT):
                    found.append(outcome)
                if len(found) == count:
                    break
        return found

    async def dead_letters(self, count: int) -> list[bytes]:
        """Return the next *count* records that could not be read."""
        async with asyncio.timeout(ANSWER_S), aclosing(self._read(DEAD_LETTERS)) as values:
            return [await anext(values) for _ in range(count)]

    async def _read(self, topic: str) -> AsyncGenerator[bytes, None]:
        async with self.bus.subscribe(topic, group="contract") as records:
            async for record in records:
                await records.commit(record)
                yield record.value


@asynccontextmanager
async def working(stage: Stage) -> AsyncIterator[Side]:
    """Run *stage* on a bus in memory, by the worker that ``cs stage`` runs, until left."""
    side = Side(stage)
    worker = asyncio.create_task(
        Runner(IsolatedStage(stage), side.bus, SystemClock(), drain_s=0).run()
    )
    try:
        yield side
        assert not worker.done(), f"the worker ended: {worker.exception()!r}"
    finally:
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


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

    async def test_work_is_answered_with_a_result_that_names_it(self, case: StageCase) -> None:
        async with working(case.stage) as side:
            for work in case.work:
                await side.send(encode(_now(work)))
                (outcome,) = await side.results(1)

                _check_result(outcome, case)
                assert _named(outcome) == _named(work), "an outcome names its work"

    async def test_whatever_it_says_on_the_way_is_its_own_to_say(self, case: StageCase) -> None:
        async with working(case.stage) as side:
            for work in case.work:
                await side.send(encode(_now(work)))
                await side.results(1)

        said = {type(outcome.finding) for outcome in side.outcomes}
        owners = {STAGE_OF_FINDING.get(kind, case.stage.name) for kind in said}
        assert owners == {case.stage.name}, "findings of this stage and of no other"

    async def test_work_that_comes_again_is_answered_the_same(self, case: StageCase) -> None:
        async with working(case.stage) as side:
            for work in case.work:
                answers = []
                for attempt in (1, 1, 2):
                    await side.send(encode(_now(replace(work, attempt=attempt))))
                    answers += await side.results(1)

                attempts = [answer.attempt for answer in answers]
                assert attempts == [1, 1, 2], "each record of the work is answered"
                findings = [_without_times(answer.finding) for answer in answers]
                assert findings == findings[:1] * 3, "the same work: the same answer"

    async def test_work_at_once_is_answered_as_one_after_the_other(
        self, case: StageCase
    ) -> None:
        async with working(case.stage) as side:
            alone = {}
            for work in case.work:
                await side.send(encode(_now(work)))
                (outcome,) = await side.results(1)
                alone[outcome.lookup, outcome.item] = _without_times(outcome.finding)
            for work in case.work:
                await side.send(encode(_now(work)))
            together = await side.results(len(case.work))

        assert {
            (each.lookup, each.item): _without_times(each.finding) for each in together
        } == alone, "work at once is answered as one after the other"

    async def test_what_is_no_work_stops_nothing_that_comes_after(
        self, case: StageCase
    ) -> None:
        good = case.work[0]
        foreign = [_of_another_stage(good)]
        async with working(case.stage) as side:
            for value in (*UNREADABLE_VALUES, *foreign):
                await side.send(value)
            await side.send(encode(_now(good)))
            (outcome,) = await side.results(1)
            dead = await side.dead_letters(len(UNREADABLE_VALUES) + 1)

        _check_result(outcome, case)
        assert sorted(dead) == sorted([*UNREADABLE_VALUES, *foreign])

    async def test_hostile_text_in_work_makes_no_bug(self, case: StageCase) -> None:
        """What a caller, a web page or another stage wrote arrives in its input."""
        values = [
            (work, value)
            for work in case.work
            for text in HOSTILE_NAMES
            for value in _spoilt(work, text)
        ]
        assert values
        async with working(case.stage) as side:
            for work, value in values:
                await side.send(value)
                (outcome,) = await side.results(1)

                assert not _is_bug(outcome.finding), f"it raised at {value!r}"
                assert _named(outcome) == _named(work), "an outcome names its work"

    async def test_at_its_deadline_work_ends_as_timeout(self, case: StageCase) -> None:
        if case.silent is None:
            return
        work = replace(case.work[0], deadline_at=datetime.now(UTC) + timedelta(seconds=SHORT_S))
        asked = asyncio.create_task(case.silent.handle(work, _unheard))
        await asyncio.wait({asked}, timeout=SHORT_S)
        asked.cancel()
        await asyncio.wait({asked}, timeout=SHORT_S)
        assert asked.cancelled(), "it ends when it is cancelled (is that swallowed?)"
        async with working(case.silent) as side:
            await side.send(encode(work))
            (outcome,) = await side.results(1)

        assert isinstance(outcome.finding, Failed), "at its deadline: Failed"
        assert outcome.finding.retryable, "a timeout may pass: retryable (is it swallowed?)"

    async def test_a_service_out_of_order_is_a_failure_and_never_an_empty_result(
        self, case: StageCase
    ) -> None:
        for state, stage in named_states(case.broken):
            async with working(stage) as side:
                for work in case.work:
                    await side.send(encode(_now(work)))
                    (outcome,) = await side.results(1)

                    failed = outcome.finding
                    assert isinstance(failed, Failed), f"{state}: Failed, never a result"
                    assert not _is_bug(failed), f"{state}: it raised {failed.causes}"
                    assert _WORD.fullmatch(failed.why), f"{state}: `why` is a stable word"
                    told = str((failed.why, failed.causes))
                    named = [name for name in _names_in(work) if name in told]
                    assert named == [], f"{state}: why and causes name no person"


async def _unheard(_: AnyFinding) -> None:
    """Take progress that is not read."""


def _check_result(outcome: Outcome, case: StageCase) -> None:
    result = STAGES[case.stage.name].result
    expected = f"the result of {case.stage.name} is a {result.__name__}"
    assert isinstance(outcome.finding, result), expected


def _is_bug(finding: AnyFinding) -> bool:
    return isinstance(finding, Failed) and finding.why == "bug"


def _named(message: Work | Outcome) -> tuple[object, ...]:
    """Return whose work it is; the receipt says that the work was given."""
    return (message.lookup, message.stage, message.item, message.attempt, message.receipt)


def _now(work: Work) -> Work:
    """Return *work* with time left."""
    return replace(work, deadline_at=datetime.now(UTC) + timedelta(seconds=ANSWER_S))


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


def _of_another_stage(work: Work) -> bytes:
    message = msgspec.json.decode(encode(work))
    message["stage"] = next(name for name in STAGES if name != work.stage)
    return msgspec.json.encode(message)


def _spoilt(work: Work, text: str) -> list[bytes]:
    """Return *work* with *text* in place of each text of its input, where a message may."""
    found = []
    whole = msgspec.to_builtins(_now(work), builtin_types=(datetime,))
    for way in _texts(whole["input"]):
        message = msgspec.json.decode(msgspec.json.encode(whole))
        place = message["input"]
        for step in way[:-1]:
            place = place[step]
        place[way[-1]] = text
        value = msgspec.json.encode(message)
        try:
            decode_work(value)
        except UNREADABLE:
            continue
        found.append(value)
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
