"""Two whole drivers and two recorders of outcomes on one log and bus: nothing twice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES
from cs.domain.brand.events import AttemptFailed, LookupFinished, StageIssued
from cs.domain.key import SearchSettled
from cs.domain.stages.work import Alive, Failed, Resolved
from cs.eventlog.streams import Streams
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import SILENCE_S, MemoryHeartbeats
from cs.pipeline.outcomes import GROUP
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from pipeline.managed import Managed

NO_MATCH = Resolved(status="no_match")
STREAMS = [f"brand-b{n}" for n in range(10)]


@pytest.fixture
async def managed() -> AsyncIterator[Managed]:
    managed = Managed()
    managed.bus = MemoryBus([(OUTCOMES, GROUP)])
    yield managed
    await managed.views.close()


@asynccontextmanager
async def driven_by(managed: Managed, number: int) -> AsyncIterator[None]:
    """Run so many drivers and recorders, as in processes of their own."""
    runner = ViewRunner(managed.log, managed.views, managed.keys)
    await runner.catch_up()
    open_work = Reading(managed.log, managed.views, runner, managed.keys)
    heartbeats = MemoryHeartbeats(managed.clock.monotonic)
    async with AsyncExitStack() as stack:
        for _ in range(number):
            driver = Driver(
                Streams(managed.log),
                open_work,
                managed.clock,
                heartbeats,
                restart_work=False,
            )
            for role in (driver, managed.recorder(heartbeats)):
                task = asyncio.create_task(role.run())
                stack.push_async_callback(ended, task)
        yield


async def ended(role: asyncio.Task[None]) -> None:
    assert not role.done(), role.exception()
    role.cancel()
    await asyncio.gather(role, return_exceptions=True)


async def begin(managed: Managed) -> None:
    """Start a lookup of each brand, for which a search of each of two keys waits."""
    for key_id in ("a", "b"):
        await managed.key(key_id, quota=100)
    for stream in STREAMS:
        await managed.start(deadline_s=3_600, stream=stream)
        for key_id in ("a", "b"):
            await managed.search(f"{stream}-{key_id}", key_id, f"{stream}.1")


async def assert_settled_once(managed: Managed) -> None:
    searches = [f"{stream}-{key_id}" for stream in STREAMS for key_id in "ab"]
    settled = [event.search for event in await managed.events(SearchSettled)]
    assert sorted(each for each in settled if each in searches) == sorted(searches)


async def issued_by_all(managed: Managed, attempt: int) -> bool:
    return all([attempt in await managed.issued(stream) for stream in STREAMS])


async def test_every_search_is_settled_once(managed: Managed) -> None:
    async with driven_by(managed, 2):
        await begin(managed)
        for stream in STREAMS:
            for _ in range(2):
                await managed.say("brand-resolution", NO_MATCH, lookup=f"{stream}.1")
        await managed.event(SearchSettled, 2 * len(STREAMS))
        await managed.caught_up()

    await assert_settled_once(managed)


async def test_two_drivers_that_start_settle_what_was_left_once(managed: Managed) -> None:
    await begin(managed)
    async with driven_by(managed, 2):
        for stream in STREAMS:
            await managed.say("brand-resolution", NO_MATCH, lookup=f"{stream}.1")
        await managed.event(SearchSettled, 2 * len(STREAMS))
        await managed.caught_up()

    await assert_settled_once(managed)


async def test_a_retry_a_silence_and_a_deadline_happen_once(managed: Managed) -> None:
    away = Failed(why="sources-away", retryable=True, retry_in_s=10)
    async with driven_by(managed, 2):
        await begin(managed)
        for stream in STREAMS:
            await managed.say("brand-resolution", away, lookup=f"{stream}.1")
        await managed.event(AttemptFailed, len(STREAMS))
        managed.passes(10)
        await managed.event(StageIssued, 2 * len(STREAMS))
        while not await issued_by_all(managed, 3):
            await managed.caught_up()
            managed.passes(SILENCE_S + 1)
        managed.passes(3_600)
        await managed.event(LookupFinished, len(STREAMS) + managed.others)
        await managed.caught_up()

    await assert_settled_once(managed)
    for stream in STREAMS:
        assert (await managed.issued(stream))[:3] == [1, 2, 3]
        assert [
            recorded.event.outcome
            for recorded in await managed.log.read(stream)
            if isinstance(recorded.event, LookupFinished)
        ] == ["timeout"]


async def test_a_sign_heard_by_one_is_known_to_the_other(managed: Managed) -> None:
    async with driven_by(managed, 2):
        await managed.key("a")
        await managed.start(stream="brand-alive")
        await managed.start(stream="brand-witness")
        for _ in range(2):
            await managed.caught_up()
            managed.passes(SILENCE_S - 1)
            await managed.say("brand-resolution", Alive(), lookup="brand-alive.1")
        await managed.event(StageIssued, 5)  # two brands, two of `heard`, the witness again

    assert await managed.issued("brand-alive") == [1]
    assert await managed.issued("brand-witness") == [1, 2]


async def test_silence_counts_on_where_leaders_come_and_go_faster_than_it_is_noticed(
    managed: Managed,
) -> None:
    await begin(managed)
    for _ in range(4):
        async with driven_by(managed, 1):
            await managed.caught_up()
            managed.passes(SILENCE_S / 3)

    async with driven_by(managed, 1):
        for _ in range(4):  # far fewer seconds than silence takes
            await managed.caught_up()
            managed.passes(1)
        await managed.caught_up()

        assert await issued_by_all(managed, 2)
    issued = [each.attempt for each in await managed.events(StageIssued)]
    assert max(issued) <= 3, "at most twice for silence"
