"""Followers stand still at an event of a newer version, say so, and go on from there."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from structlog.testing import capture_logs

from contracts.event_log import said, units
from cs.bus.memory import MemoryBus
from cs.bus.topics import STAGE_TOPICS
from cs.domain.brand.events import StageIssued
from cs.eventlog.errors import NewerEvent
from cs.eventlog.follow import VersionGate, follow
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.pipeline.relay import relay
from domain.golden_files import golden_event
from pipeline.managed import Managed
from pipeline.receipted import RECEIPTS
from system.upgrades.newer import TOPIC, quickly, upgraded, write_newer


@pytest.fixture
async def managed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Managed]:
    quickly(monkeypatch)
    managed = Managed()
    yield managed
    await managed.views.close()


async def test_a_follower_waits_at_it_and_misses_nothing_after(managed: Managed) -> None:
    log, pages = managed.log, list[Sequence[RecordedEvent]]()
    gate = VersionGate("test")

    async def watch() -> None:
        async for page in follow(log, 0, gate=gate):
            pages.append(page)
            if page[-1].position == 3:
                break

    await log.append([Append("key-a", NO_STREAM, units(1))])
    await write_newer(log, "key-a", 0)
    await log.append([Append("key-b", NO_STREAM, units(3))])
    watching = asyncio.create_task(watch())
    await asyncio.wait([watching], timeout=0.1)
    assert [said(page) for page in pages] == [[1]]
    assert TOPIC in str(gate.why)
    with pytest.raises(NewerEvent):
        gate.check()

    with upgraded():
        async with asyncio.timeout(5):
            await watching

    assert [each.position for page in pages for each in page] == [1, 2, 3]
    assert gate.why is None
    gate.check()


async def test_a_follower_that_leads_gives_up_at_it(managed: Managed) -> None:
    await write_newer(managed.log, "key-a", NO_STREAM)

    with pytest.raises(NewerEvent):
        await anext(follow(managed.log, 0))


async def test_it_is_told_at_once_and_every_minute() -> None:
    seconds, tries = 0.0, 0
    gate = VersionGate("test", retry_s=0, monotonic=lambda: seconds)

    async def attempt() -> None:
        nonlocal seconds, tries
        tries += 1
        seconds += 1
        if tries <= 121:
            raise NewerEvent(7, "key-secret", TOPIC)

    with capture_logs() as lines:
        await gate.until_read(attempt)

    assert [line["event"] for line in lines] == ["held_at_newer_event"] * 3
    assert lines[0]["log_level"] == "error"
    assert (lines[0]["position"], lines[0]["topic"]) == (7, TOPIC)
    assert "upgrade" in lines[0]["do"]
    assert "secret" not in str(lines)


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
