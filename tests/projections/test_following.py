"""Following views that another process moves: who is woken finds the rows."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from contracts.views import History, wakes_by_commits_alone
from cs.domain.brand.events import BrandForgotten
from cs.domain.key import settled
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.eventlog.streams import Streams
from cs.projections.following import ViewFollower
from cs.projections.reading import AHEAD, FIRST, Reading
from cs.projections.views import Views
from domain.acme_run import AT, AcmeRun
from harness.places import Place, open_database, views_in
from harness.servers.postgres import Postgres
from projections.history import LIVE


@pytest.fixture
async def views(place: Place) -> AsyncIterator[Views]:
    views = views_in(place)
    yield views
    await views.close()


@pytest.fixture
async def history() -> History:
    return await History.written()


@asynccontextmanager
async def running(follower: ViewFollower) -> AsyncIterator[None]:
    task = asyncio.create_task(follower.run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def live_settles(history: History) -> None:
    """Append two events: the lookup's finish, and the end of the search."""
    version = len(AcmeRun(stream=LIVE).resolved().events) - 1
    finish = AcmeRun(stream=LIVE).resolved().times_out().events[version + 1 :]
    end = settled("s-live", f"{LIVE}.1", "timeout", 0, cached=False, at=AT)
    await history.log.append([Append(LIVE, version, finish), Append("key-one", 8, [end])])


class CountedReads:
    """The events that are read of the log, by stream."""

    def __init__(self, history: History, monkeypatch: pytest.MonkeyPatch) -> None:
        self.events = Counter[str]()
        for name in ("read", "tail", "stored", "select"):
            monkeypatch.setattr(history.log, name, self._counted(getattr(history.log, name)))

    def _counted(self, read: Any) -> Any:
        async def counted(*args: Any, **kwargs: Any) -> Any:
            found = await read(*args, **kwargs)
            self.events.update(each.stream for each in found)
            return found

        return counted


async def test_a_position_is_reached_only_when_its_rows_are_there(
    views: Views, history: History
) -> None:
    runner, follower = history.runner(views), ViewFollower(history.log, views)
    await runner.catch_up()
    await follower.catch_up()
    head = await history.log.head()
    async with running(follower):
        await live_settles(history)
        waiting = asyncio.create_task(follower.reached(head + 2))
        await asyncio.wait([waiting], timeout=0.1)
        assert (follower.position, waiting.done()) == (head, False)

        await runner.catch_up()

        async with asyncio.timeout(5):
            await waiting
        assert follower.position == head + 2


async def test_listeners_hear_while_the_views_stand_still(
    views: Views, history: History
) -> None:
    runner, follower = history.runner(views), ViewFollower(history.log, views)
    await runner.catch_up()
    await follower.catch_up()
    head = await history.log.head()
    heard: list[int] = []
    all_heard = asyncio.Event()

    def on_events(page: Sequence[RecordedEvent]) -> None:
        heard.extend(each.position for each in page)
        if heard[-1] == head + 2:
            all_heard.set()

    follower.listen(on_events)
    async with running(follower):
        await live_settles(history)

        async with asyncio.timeout(5):
            await all_heard.wait()

        assert (heard, follower.position) == ([head + 1, head + 2], head)


async def test_a_held_request_wakes_by_a_commit_elsewhere(
    views: Views, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    wakes_by_commits_alone(monkeypatch)
    runner, follower = history.runner(views), ViewFollower(history.log, views)
    await runner.catch_up()
    await follower.catch_up()
    reading = Reading(history.log, views, follower, history.keys)
    async with running(follower):
        held = asyncio.create_task(reading.until_settled("s-live"))
        await live_settles(history)
        await asyncio.wait([held], timeout=0.1)
        assert not held.done()

        await runner.catch_up()

        async with asyncio.timeout(20):
            await held
        found = await reading.search("s-live", "one")
        assert found is not None
        assert found.row.status == "failed"


async def test_a_busy_brand_keeps_no_other_key_waiting(
    views: Views, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More events than are applied for any answer; nobody moves the views."""
    await history.runner(views).catch_up()
    follower = ViewFollower(history.log, views)
    await follower.catch_up()
    streams = Streams(history.log)
    reading = Reading(history.log, views, follower, history.keys, streams=streams)
    busy = [BrandForgotten(at=AT)] * (2 * AHEAD)
    await history.log.append([Append("brand-busy", NO_STREAM, busy)])
    length = len(await history.log.read("key-one"))
    counted = CountedReads(history, monkeypatch)

    ended = await reading.search("s-done", "one")
    runs = await reading.search("s-live", "one")
    never = await reading.search("s-never", "one")

    assert ended is not None
    assert runs is not None
    assert (ended.row.status, runs.row.status, never) == ("done", "running", None)
    assert counted.events == {"key-one": length}, "its state, once"

    counted.events.clear()
    await live_settles(history)
    now = await reading.search("s-live", "one", (await streams.key("one")).state)

    assert now is not None
    assert now.row.status == "failed"
    assert now.body is not None
    assert set(counted.events) == {"key-one", LIVE}
    assert counted.events.total() <= 2 * FIRST


async def test_a_database_that_restarts_is_followed_on(
    own_postgres: Postgres, history: History
) -> None:
    async with open_database(own_postgres.dsn) as pool:
        views = views_in(pool)
        runner, follower = history.runner(views), ViewFollower(history.log, views)
        await runner.catch_up()
        await follower.catch_up()
        head, told = await history.log.head(), list[Sequence[RecordedEvent]]()
        follower.listen(told.append)
        async with running(follower):
            await asyncio.to_thread(own_postgres.restart)
            following = asyncio.create_task(runner.run())
            await live_settles(history)

            async with asyncio.timeout(20):
                await follower.reached(head + 2)

            assert [recorded.position for page in told for recorded in page] == [
                head + 1,
                head + 2,
            ]
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
