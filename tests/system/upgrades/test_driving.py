"""Driving and recording beside an event of a newer version: nothing is lost or guessed."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES
from cs.domain.stages.work import Resolved
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import AT_ONCE, GROUP
from pipeline.managed import Managed
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


async def test_a_kept_outcome_is_given_to_the_next_member_when_this_one_ends(
    managed: Managed,
) -> None:
    heartbeats = MemoryHeartbeats(managed.clock.monotonic)
    await held_stream(managed)

    old = asyncio.create_task(managed.recorder(heartbeats, drain_s=0).run())
    await managed.say("brand-resolution", NO_MATCH, lookup=f"{HELD}.1")
    await asyncio.wait([old], timeout=0.1)
    old.cancel()
    await asyncio.gather(old, return_exceptions=True)
    assert FINISHED not in {each.topic for each in await managed.log.stored(0)}

    with upgraded():
        new = asyncio.create_task(managed.recorder(heartbeats, drain_s=0).run())
        assert await stored(managed.log, FINISHED) == [HELD]
    new.cancel()
    await asyncio.gather(new, return_exceptions=True)
