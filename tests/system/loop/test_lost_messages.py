"""A message may be lost on any topic: silence makes its work be done again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest
from msgspec.structs import replace

from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.domain.brand.events import StageIssued
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, Query
from cs.domain.key import SearchSettled
from cs.plugins.sources import BrandAnswer
from harness.in_process import in_memory
from harness.manual_clock import ManualClock
from harness.outside import ACME, Directory, tools
from system.loop.silences import Silences
from system.loop.unreliable_bus import LosingBus, Message

Loses = Callable[[Message], bool]
AT = datetime(2026, 1, 1, tzinfo=UTC)
#: Topic -> the stage that its first messages are of.
TOPICS = {topic: stage for stage, topic in STAGE_TOPICS.items()} | {
    OUTCOMES: "brand-resolution"
}


def these(*numbers: int, of: str | None = None) -> Loses:
    """Lose the messages of a topic, or of all, that have these numbers, from 1."""
    counting = count(1)
    return lambda message: of in {None, message.topic} and next(counting) in numbers


async def searched(loses: Loses) -> tuple[dict[str, Any], list[AnyEvent], LosingBus]:
    """Search for Acme on a bus that *loses*; return the record and what is in the log."""
    real = ManualClock(AT)
    bus = LosingBus(loses)
    async with in_memory(tools(), bus=bus, real=real) as service:
        key = await service.new_key()
        silences = Silences(service.running, bus, real)
        await silences.rest()  # else its start may issue the first work again
        call = asyncio.ensure_future(service.search(key, brand="Acme"))
        await silences.until(call)
        log = await service.running.streams.log.tail(0, 1_000)
        return call.result().json(), [recorded.event for recorded in log], bus


def issued_again(events: list[AnyEvent]) -> list[tuple[str, int]]:
    return [
        (event.stage, event.attempt)
        for event in events
        if isinstance(event, StageIssued) and event.after_silence
    ]


def assert_ended_as_without_losses(record: dict[str, Any], events: list[AnyEvent]) -> None:
    assert record["status"] == "done"
    assert [(contact["full_name"], contact["email"]) for contact in record["contacts"]] == [
        ("Ada Kern", "ada.kern@acme.test"),
        ("Ben Ode", None),
    ]
    assert record["usage"]["used"] == 1
    assert sum(isinstance(event, SearchSettled) for event in events) == 1


@pytest.mark.slow
async def test_any_one_message_may_be_lost() -> None:
    _, _, whole = await searched(these())
    for number in range(1, whole.offered + 1):
        record, events, bus = await searched(these(number))

        assert_ended_as_without_losses(record, events)
        # Progress is not waited for.
        assert [stage for stage, _ in issued_again(events)] == [work[1] for work in bus.lost]


@pytest.mark.parametrize(("topic", "stage"), TOPICS.items())
async def test_work_that_is_lost_three_times_ends_with_the_deadline(
    topic: str, stage: str
) -> None:
    clock, real = ManualClock(AT), ManualClock(AT)
    bus = LosingBus(these(1, 2, 3, of=topic))
    async with in_memory(tools(), bus=bus, clock=clock, real=real) as service:
        key = await service.new_key()
        silences = Silences(service.running, bus, real)
        await silences.rest()
        async with service.client(key) as client:
            search = (await client.post("/contacts", json={"brand": "Acme"})).json()["id"]
            end = asyncio.ensure_future(service.running.reading.until_settled(search))
            await silences.rest()
            while not bus.gave_up():
                silences.let_one_pass()
                await silences.rest()
            assert not end.done()
            clock.set(AT + timedelta(seconds=120))
            await silences.until(end)
            record = (await client.get(f"/searches/{search}")).json()
        log = await service.running.streams.log.tail(0, 1_000)

    assert (record["status"], record["reason"]) == ("failed", "timeout")
    assert record["charged"] is False
    assert issued_again([recorded.event for recorded in log]) == [(stage, 2), (stage, 3)]


@dataclass
class SlowDirectory(Directory):
    """Says nothing before it is let."""

    let: asyncio.Event = field(default_factory=asyncio.Event)

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        found = await super().find(query, known)
        await self.let.wait()
        return found


async def test_signs_of_life_may_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.pipeline.runner.HEARTBEAT_EVERY_S", 0.001)
    real = ManualClock(AT)
    bus = LosingBus(lambda message: b'"alive"' in message.value)
    directory = SlowDirectory({"acme": ACME})
    world = replace(tools(), brand_sources=[directory])
    async with in_memory(world, bus=bus, real=real) as service:
        key = await service.new_key()
        silences = Silences(service.running, bus, real)
        await silences.rest()
        call = asyncio.ensure_future(service.search(key, brand="Acme"))
        while all(attempt < 3 for *_, attempt in service.running.driver.in_flight()):
            silences.let_one_pass()
            await service.running.reading.keys()
        directory.let.set()
        await silences.until(call)
        log = await service.running.streams.log.tail(0, 1_000)

    events = [recorded.event for recorded in log]
    assert_ended_as_without_losses(call.result().json(), events)
    assert issued_again(events) == [("brand-resolution", 2), ("brand-resolution", 3)]
    assert directory.asked == 1, "what is in hand is not done again"
