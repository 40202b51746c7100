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
from cs.domain import codec, key
from cs.domain.brand.events import BrandForgotten, StageIssued
from cs.domain.causation import StartCause
from cs.domain.key import GrantQuota, QuotaGranted
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import Resolved
from cs.eventlog.port import Append, EventLog, NewerEvent
from cs.eventlog.streams import Streams
from cs.projections.following import ViewFollower
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from domain.golden_files import golden_event
from harness.every_row import check_every
from pipeline.loop import Loop
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
async def loop(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Loop]:
    monkeypatch.setattr("cs.eventlog.follow.HELD_RETRY_S", 0.01)
    loop = Loop()
    yield loop
    await loop.views.close()


async def test_deciders_stop_at_it_on_its_stream_only(loop: Loop) -> None:
    async def grant(streams: Streams, key_id: str, granted: int) -> int:
        command = GrantQuota(units=granted, at=AT)
        found, _ = await streams.change(
            f"key-{key_id}", lambda state: key.decide(command, state), caused_by=StartCause()
        )
        return len(found)

    for key_id in ("a", "b"):
        await loop.key(key_id)
    streams = Streams(loop.log)
    await grant(streams, "a", 3)  # its state is kept from here on
    await write_newer(loop.log, "key-a")

    with pytest.raises(NewerEvent, match=r"key\.lent\.v1.*upgrade"):
        await grant(streams, "a", 1)
    with pytest.raises(NewerEvent):
        await streams.key("a")
    assert await grant(streams, "b", 5) == 1
    with upgraded():
        await grant(streams, "a", -12)
        assert (await streams.key("a")).state.quota == 6


async def test_views_stop_at_it_and_their_readers_are_refused_what_comes_after(
    loop: Loop,
) -> None:
    runner = ViewRunner(loop.log, loop.views, loop.keys)
    follower = ViewFollower(loop.log, loop.views)
    reading = Reading(loop.log, loop.views, follower, loop.keys)
    await loop.key("a")
    await runner.catch_up()
    await follower.catch_up()
    newer = await write_newer(loop.log, "key-a")
    tasks = [asyncio.create_task(each.run()) for each in (runner, follower)]

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await loop.views.position()

    await until(lambda: bool(follower.gate.why and runner.gate.why))
    assert f"position {newer}" in str(follower.gate.why)
    assert await loop.views.position() == newer - 1
    with pytest.raises(NewerEvent):
        await reading.usage("a")

    with upgraded():
        await until(lambda: follower.position == newer)
        usage = await reading.usage("a")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert usage is not None


async def test_the_relay_publishes_nothing_that_comes_after_it(loop: Loop) -> None:
    """It might be about the very work that comes next."""
    issued = golden_event("brand.stage-issued.v1")
    assert isinstance(issued, StageIssued)
    topic = STAGES[issued.stage].topic
    await loop.append("brand-a", issued)
    await write_newer(loop.log, "key-a")
    await loop.append("brand-b", issued)

    async with loop.running(loop.relay()):
        await loop.records(1, topic)
        with pytest.raises(TimeoutError):
            await loop.records(1, topic, within_s=0.1)

        with upgraded():
            await loop.records(1, topic)


async def test_a_relay_that_leads_gives_up_after_saving_its_position(loop: Loop) -> None:
    saved: list[int] = []
    await loop.append("key-b", *units(1))
    await write_newer(loop.log, "key-a")

    with pytest.raises(NewerEvent):
        async with asyncio.timeout(5):
            await loop.relay(saved=saved)

    assert saved == [1]


async def test_an_outcome_for_its_stream_waits_and_other_outcomes_are_recorded(
    loop: Loop,
) -> None:
    recorder = loop.recorder()
    held = [f"brand-held{n}" for n in range(64)]  # as many as are recorded at once
    for stream in [*held, "brand-other"]:
        await loop.start(stream=stream)
    for stream in held:
        await write_newer(loop.log, stream)
    recording = asyncio.create_task(recorder.run())
    for stream in [*held, "brand-other"]:
        await loop.say("brand-resolution", Resolved(status="no_match"), lookup=f"{stream}.1")

    assert await stored(loop.log, FINISHED) == {"brand-other"}
    assert not recording.done()

    with upgraded():
        assert await stored(loop.log, FINISHED, 1 + len(held)) == {"brand-other", *held}
    recording.cancel()
    await asyncio.gather(recording, return_exceptions=True)


def test_an_event_may_have_fields_that_this_release_does_not_know() -> None:
    def check(topic: str) -> None:
        _, structs = msgspec.json.schema_components([codec.shapes()[topic]])
        parts: list[Any] = list(structs.values())

        assert [part for part in parts if part.get("additionalProperties") is False] == []

    check_every(sorted(codec.shapes()), check)
