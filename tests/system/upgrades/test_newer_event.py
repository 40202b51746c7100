"""A process of this release reads no further at an event that only the next release knows.

It reports the event, decides nothing without it, and goes on once it is upgraded.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from contracts.event_log import units
from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS
from cs.domain import codec, key
from cs.domain.brand.events import BrandForgotten, StageIssued
from cs.domain.causation import StartCause
from cs.domain.key import GrantQuota, QuotaGranted
from cs.domain.stages.work import Resolved
from cs.eventlog.follow import VersionGate
from cs.eventlog.port import NO_STREAM, Append, EventLog, NewerEvent
from cs.eventlog.streams import Streams
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.outcomes import AT_ONCE, GROUP
from cs.pipeline.relay import relay
from cs.projections.following import ViewFollower
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from domain.golden_files import golden_event
from pipeline.managed import Managed
from pipeline.receipted import RECEIPTS
from system.upgrades.releases import release

AT = datetime(2026, 1, 1, tzinfo=UTC)
FINISHED = "brand.lookup-finished.v1"


class Lent(QuotaGranted, frozen=True, kw_only=True):
    """Quota for a while; the next release folds it as a grant."""


class Closed(BrandForgotten, frozen=True, kw_only=True):
    """The end of a brand; the next release folds it as a forgotten one."""


def upgraded() -> AbstractContextManager[None]:
    return release({"key.lent.v1": Lent, "brand.closed.v1": Closed})


async def write_newer(log: EventLog, stream: str) -> int:
    """Append a newer event to *stream*, as a process of the next release does."""
    event = Lent(units=10, at=AT) if stream.startswith("key-") else Closed(at=AT)
    version = len(await log.read(stream)) - 1
    with upgraded():
        return await log.append([Append(stream, version, [event])])


async def stored(log: EventLog, topic: str, count: int = 1) -> set[str]:
    """Return the streams of *count* events of *topic*, once there are as many."""
    async with asyncio.timeout(10):
        while True:
            head = await log.head()
            found = {e.stream for e in await log.stored(0, 10_000) if e.topic == topic}
            if len(found) >= count:
                return found
            await log.grown(head)


@pytest.fixture
async def managed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Managed]:
    defaults = VersionGate.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "retry_s", 0.01)
    managed = Managed()
    managed.bus = MemoryBus([(OUTCOMES, GROUP)])
    yield managed
    await managed.views.close()


async def test_deciders_stop_at_it_on_its_stream_only(managed: Managed) -> None:
    async def grant(streams: Streams, key_id: str, granted: int) -> int:
        command = GrantQuota(units=granted, at=AT)
        found, _ = await streams.change(
            f"key-{key_id}", lambda state: key.decide(command, state), caused_by=StartCause()
        )
        return len(found)

    for key_id in ("a", "b"):
        await managed.key(key_id)
    streams = Streams(managed.log)
    await grant(streams, "a", 3)  # its state is kept from here on
    await write_newer(managed.log, "key-a")

    with pytest.raises(NewerEvent, match=r"key\.lent\.v1.*upgrade"):
        await grant(streams, "a", 1)
    with pytest.raises(NewerEvent):
        await streams.key("a")
    assert await grant(streams, "b", 5) == 1
    with upgraded():
        await grant(streams, "a", -12)
        assert (await streams.key("a")).state.quota == 6


async def test_views_stop_at_it_and_their_readers_are_refused_what_comes_after(
    managed: Managed,
) -> None:
    runner = ViewRunner(managed.log, managed.views, managed.keys)
    follower = ViewFollower(managed.log, managed.views)
    reading = Reading(managed.log, managed.views, follower, managed.keys)
    await managed.key("a")
    await runner.catch_up()
    await follower.catch_up()
    newer = await write_newer(managed.log, "key-a")
    tasks = [asyncio.create_task(each.run()) for each in (runner, follower)]

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await managed.views.position()

    await until(lambda: bool(follower.gate.why and runner.gate.why))
    assert f"position {newer}" in str(follower.gate.why)
    assert await managed.views.position() == newer - 1
    with pytest.raises(NewerEvent):
        await reading.usage("a")

    with upgraded():
        await until(lambda: follower.position == newer)
        usage = await reading.usage("a")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert usage is not None


async def test_the_relay_publishes_nothing_that_comes_after_it(managed: Managed) -> None:
    """It might be about the very work that comes next."""
    issued = golden_event("brand.stage-issued.v1")
    assert isinstance(issued, StageIssued)
    topic = STAGE_TOPICS[issued.stage]
    bus = MemoryBus([(topic, "g")])
    await managed.log.append([Append("brand-a", NO_STREAM, [issued])])
    await write_newer(managed.log, "key-a")
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


async def test_a_relay_that_leads_gives_up_after_saving_its_position(managed: Managed) -> None:
    saved: list[int] = []

    async def save(position: int) -> None:
        saved.append(position)

    await managed.log.append([Append("key-b", NO_STREAM, units(1))])
    await write_newer(managed.log, "key-a")
    with pytest.raises(NewerEvent):
        async with asyncio.timeout(5):
            await relay(
                managed.log, MemoryBus(), after=0, receipts=RECEIPTS, save_position=save
            )

    assert saved == [1]


async def test_an_outcome_for_its_stream_waits_and_other_outcomes_are_recorded(
    managed: Managed,
) -> None:
    recorder = managed.recorder(MemoryHeartbeats(managed.clock.monotonic), drain_s=0)
    held = [f"brand-held{n}" for n in range(AT_ONCE)]  # as many as are recorded at once
    for stream in [*held, "brand-other"]:
        await managed.start(stream=stream)
    for stream in held:
        await write_newer(managed.log, stream)
    recording = asyncio.create_task(recorder.run())
    for stream in [*held, "brand-other"]:
        await managed.say("brand-resolution", Resolved(status="no_match"), lookup=f"{stream}.1")

    assert await stored(managed.log, FINISHED) == {"brand-other"}
    assert not recording.done()

    with upgraded():
        assert await stored(managed.log, FINISHED, 1 + len(held)) == {"brand-other", *held}
    recording.cancel()
    await asyncio.gather(recording, return_exceptions=True)


@pytest.mark.parametrize("topic", sorted(codec.shapes()))
def test_an_event_may_have_fields_that_this_release_does_not_know(topic: str) -> None:
    _, structs = msgspec.json.schema_components([codec.shapes()[topic]])
    parts: list[Any] = list(structs.values())

    assert [part for part in parts if part.get("additionalProperties") is False] == []
