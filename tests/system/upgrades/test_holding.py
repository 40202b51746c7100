"""Followers stand still at an event of a newer version, say so, and go on from there."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from contracts.event_log import units
from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.domain.brand.events import StageIssued
from cs.domain.stages.work import Resolved
from cs.eventlog.errors import NewerEvent
from cs.eventlog.port import NO_STREAM, Append
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import AT_ONCE, GROUP
from cs.pipeline.relay import relay
from domain.golden_files import golden_event
from pipeline.managed import Managed
from pipeline.receipted import RECEIPTS
from system.upgrades.newer import quickly, stored, upgraded, write_newer

NO_MATCH = Resolved(status="no_match")
HELD, OTHER = "brand-held", "brand-other"
FINISHED = "brand.lookup-finished.v1"


@pytest.fixture
async def managed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Managed]:
    quickly(monkeypatch)
    managed = Managed()
    managed.bus = MemoryBus([(OUTCOMES, GROUP)])
    yield managed
    await managed.views.close()


async def test_the_relay_publishes_nothing_that_comes_after_it(managed: Managed) -> None:
    """It might be about the very work that comes next."""
    issued = golden_event("brand.stage-issued.v1")
    assert isinstance(issued, StageIssued)
    topic = STAGE_TOPICS[issued.stage]
    bus = MemoryBus([(topic, "g")])
    await managed.log.append([Append("brand-a", NO_STREAM, [issued])])
    await write_newer(managed.log, "key-a", NO_STREAM)
    await managed.log.append([Append("brand-b", NO_STREAM, [issued])])

    async with bus.subscribe(topic, group="g") as records:
        relaying = asyncio.create_task(relay(managed.log, bus, after=0, receipts=RECEIPTS))
        incoming = aiter(records)
        async with asyncio.timeout(5):
            await anext(incoming)
        second = asyncio.ensure_future(anext(incoming))
        await asyncio.wait([second], timeout=0.1)
        assert not second.done()

        with upgraded():
            async with asyncio.timeout(5):
                await second
    relaying.cancel()
    await asyncio.gather(relaying, return_exceptions=True)


async def test_a_relay_that_leads_gives_up_after_keeping_how_far_it_came(
    managed: Managed,
) -> None:
    kept: list[int] = []

    async def keep(position: int) -> None:
        kept.append(position)

    await managed.log.append([Append("key-b", NO_STREAM, units(1))])
    await write_newer(managed.log, "key-a", NO_STREAM)
    with pytest.raises(NewerEvent):
        async with asyncio.timeout(5):
            await relay(
                managed.log, MemoryBus(), after=0, receipts=RECEIPTS, save_position=keep
            )

    assert kept == [1]


async def held_stream(managed: Managed, stream: str = HELD) -> None:
    """Start a lookup whose stream a newer version writes to."""
    await managed.start(stream=stream)
    version = len(await managed.log.read(stream)) - 1
    await write_newer(managed.log, stream, version)


async def test_an_outcome_on_such_a_stream_is_kept_and_the_others_go_on(
    managed: Managed,
) -> None:
    heartbeats = MemoryHeartbeats(managed.clock.monotonic)
    recorder = managed.recorder(heartbeats, drain_s=0)
    held = [f"{HELD}{n}" for n in range(AT_ONCE)]
    for stream in held:
        await held_stream(managed, stream)
    await managed.start(stream=OTHER)
    recording = asyncio.create_task(recorder.run())
    for stream in [*held, OTHER]:  # more than are recorded at once
        await managed.say("brand-resolution", NO_MATCH, lookup=f"{stream}.1")

    assert await stored(managed.log, FINISHED) == [OTHER]
    assert not recording.done()

    with upgraded():
        assert set(await stored(managed.log, FINISHED, 1 + len(held))) == {OTHER, *held}
    recording.cancel()
    await asyncio.gather(recording, return_exceptions=True)
