"""Views and their readers before an event of a newer version: nothing stale or guessed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from contracts.views import History
from cs.admin.health import Readiness
from cs.eventlog.errors import NewerEvent
from cs.eventlog.port import EventLog
from cs.projections.catalogue import projections
from cs.projections.following import ViewFollower
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.usage import USAGE
from cs.projections.views import Views
from projections.history import write
from system.upgrades.newer import TOPIC, quickly, upgraded, write_newer


@pytest.fixture
async def history(monkeypatch: pytest.MonkeyPatch) -> History:
    quickly(monkeypatch)
    history = History()
    await write(history.log)
    return history


@pytest.fixture
async def views() -> AsyncIterator[Views]:
    views = sqlite_views(None, projections())
    yield views
    await views.close()


async def lend(history: History) -> int:
    version = len(await history.log.read("key-one")) - 1
    return await write_newer(history.log, "key-one", version)


@asynccontextmanager
async def running(follower: ViewFollower | ViewRunner) -> AsyncIterator[None]:
    task = asyncio.create_task(follower.run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def ready(check: Readiness, log: EventLog, *, wanted: bool) -> dict[str, object]:
    """Return what readiness by *check* rests on once it is as *wanted*."""
    async with asyncio.timeout(5):
        while True:
            is_ready, told = await check.check()
            if is_ready == wanted:
                return told
            await asyncio.wait([asyncio.ensure_future(log.grown(0))])


async def test_the_views_of_one_process_stand_still_and_go_on_from_there(
    history: History, views: Views
) -> None:
    runner = history.runner(views)
    await runner.catch_up()
    before = await history.log.head()
    check = Readiness(history.log, history.keys, views=runner)
    async with running(runner):
        position = await lend(history)
        told = await ready(check, history.log, wanted=False)

        assert TOPIC in str(told["held"])
        assert await views.position() == before

        with upgraded():
            assert "held" not in await ready(check, history.log, wanted=True)
            async with asyncio.timeout(5):
                await runner.reached(position)


async def test_a_start_on_such_a_log_is_refused_after_all_before_it(
    history: History, views: Views
) -> None:
    before = await history.log.head()
    await lend(history)

    with pytest.raises(NewerEvent, match="upgrade"):
        await history.runner(views).catch_up()

    assert await views.position() == before


async def test_a_runner_that_leads_gives_up(history: History, views: Views) -> None:
    runner = ViewRunner(history.log, views, history.keys, epoch=1)
    await runner.catch_up()
    await lend(history)

    with pytest.raises(NewerEvent):
        async with asyncio.timeout(5):
            await runner.run()


async def test_a_reader_is_told_at_once_and_gets_no_answer_of_before(
    history: History, views: Views
) -> None:
    runner = history.runner(views)
    await runner.catch_up()
    follower = ViewFollower(history.log, views)
    await follower.catch_up()
    reading = Reading(history.log, views, follower, history.keys)
    assert await reading.usage("one") is not None
    async with running(follower):
        await lend(history)
        check = Readiness(history.log, history.keys, views=follower)
        await ready(check, history.log, wanted=False)

        with pytest.raises(NewerEvent):
            async with asyncio.timeout(1):
                await reading.usage("two")
        assert await views.get(USAGE, "two") is not None  # what there is, is there


async def test_rows_advanced_in_memory_end_before_it_too(
    history: History, views: Views
) -> None:
    """The views are behind, and what they lack can be read only in part."""
    await lend(history)
    follower = ViewFollower(history.log, views)
    reading = Reading(history.log, views, follower, history.keys)

    with pytest.raises(NewerEvent):
        await reading.usage("two")


@pytest.mark.slow
async def test_a_follower_that_starts_says_why_it_waits(history: History, views: Views) -> None:
    before = await history.log.head()
    await lend(history)
    with pytest.raises(NewerEvent):
        await history.runner(views).catch_up()
    follower = ViewFollower(history.log, views)
    catching = asyncio.create_task(follower.catch_up())
    async with asyncio.timeout(5):
        while follower.gate.why is None:
            await asyncio.wait([catching], timeout=0.02)
    assert not catching.done()

    with upgraded():
        await history.runner(views).catch_up()
        async with asyncio.timeout(5):
            await catching
    assert follower.position == before + 1
