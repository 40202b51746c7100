"""Messages of a newer schema: kept as dead letters, and their work is issued again."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from cs.bus.memory import MemoryBus
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, STAGE_TOPICS
from cs.domain.brand.events import LookupFinished, StageIssued
from cs.domain.stages.work import AnyFinding, Resolved, Work
from cs.pipeline.heartbeats import SILENCE_S
from cs.pipeline.runner import Runner
from cs.plugins.stages import Report
from pipeline.managed import LOOKUP, Managed

TOPIC = STAGE_TOPICS["brand-resolution"]


@pytest.fixture
async def managed() -> AsyncIterator[Managed]:
    managed = Managed()
    yield managed
    await managed.views.close()


async def issued_again(managed: Managed) -> None:
    """Let time pass until the work is silent; return once it is issued again."""
    await managed.caught_up()
    managed.passes(SILENCE_S + 0.1)
    async with asyncio.timeout(10):
        while 2 not in await managed.issued():
            await managed.caught_up()
            managed.passes(1.1)


async def test_an_outcome_of_a_newer_schema_costs_time_and_not_the_work(
    managed: Managed,
) -> None:
    async with managed.running(), managed.bus.subscribe(DEAD_LETTERS, group="g") as letters:
        await managed.start()
        await managed.event(StageIssued)
        newer = {
            "lookup": LOOKUP,
            "stage": "brand-resolution",
            "item": "",
            "attempt": 1,
            "finding": {"type": "of-a-newer-version"},
        }
        await managed.bus.publish(OUTCOMES, key=b"k", value=msgspec.json.encode(newer))
        async with asyncio.timeout(5):
            letter = await anext(aiter(letters))
        await issued_again(managed)
        await managed.say("brand-resolution", Resolved(status="no_match"), attempt=2)
        await managed.event(LookupFinished, managed.others + 1)

    assert letter.value == msgspec.json.encode(newer), "byte for byte"
    assert LOOKUP in {event.lookup for event in await managed.events(LookupFinished)}


class NoMatch:
    @property
    def name(self) -> str:
        return "brand-resolution"

    async def handle(self, work: Work, report: Report) -> AnyFinding:
        del work, report
        return Resolved(status="no_match")


async def test_work_of_a_newer_schema_is_kept_and_the_stage_goes_on(managed: Managed) -> None:
    bus = MemoryBus([(TOPIC, "brand-resolution"), (DEAD_LETTERS, "g"), (OUTCOMES, "g")])
    running = asyncio.create_task(Runner(NoMatch(), bus, managed.clock).run())
    old = Work(
        lookup=LOOKUP,
        stage="brand-resolution",
        item="",
        attempt=1,
        deadline_at=managed.clock.now(),
        input=(await first_issued(managed)).input,
    )
    newer = msgspec.to_builtins(old) | {"input": {"type": "of-a-newer-version"}}
    async with (
        bus.subscribe(DEAD_LETTERS, group="g") as letters,
        bus.subscribe(OUTCOMES, group="g") as outcomes,
    ):
        for value in (newer, msgspec.to_builtins(old) | {"of_a_newer_version": 1}):
            await bus.publish(TOPIC, key=b"k", value=msgspec.json.encode(value))
        async with asyncio.timeout(5):
            letter, outcome = await anext(aiter(letters)), await anext(aiter(outcomes))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert letter.value == msgspec.json.encode(newer), "byte for byte"
    assert msgspec.json.decode(outcome.value)["lookup"] == LOOKUP


async def first_issued(managed: Managed) -> StageIssued:
    await managed.start()
    return await managed.event(StageIssued)
