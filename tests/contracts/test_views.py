"""What views do, wherever they keep their rows."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from contracts.views import STORED, History, all_rows, following, wakes_by_commits_alone
from cs.domain.key import QuotaGranted, SearchAdmitted
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable
from cs.postgres.errors import Fenced
from cs.projections.brands import BRANDS
from cs.projections.searches import SEARCHES
from cs.projections.set_aside import ASIDE, SET_ASIDE
from cs.projections.usage import USAGE
from cs.projections.views import Views
from domain.acme_run import AT
from harness.places import Place, open_database, sql, views_in
from harness.servers.postgres import Postgres
from projections.history import LIVE, issued
from projections.stored import table_of

FILE = "views.db"


@asynccontextmanager
async def opened(views: Views) -> AsyncIterator[Views]:
    yield views
    await views.close()


@asynccontextmanager
async def nodes(place: Place, number: int) -> AsyncIterator[list[Views]]:
    """Yield views as so many processes have them."""
    async with AsyncExitStack() as stack:
        each = [opened(views_in(place)) for _ in range(number)]
        yield [await stack.enter_async_context(views) for views in each]


@pytest.fixture
async def views(place: Place) -> AsyncIterator[Views]:
    """Empty views of all projections."""
    async with opened(views_in(place)) as views:
        yield views


@pytest.fixture
async def history() -> History:
    return await History.written()


# Pages.


@pytest.mark.parametrize("page", [1, 7, 500])
async def test_however_the_log_is_cut_the_rows_are_those_of_a_replay(
    views: Views, history: History, page: int
) -> None:
    while events := await history.log.tail(await views.position(), page):
        await history.apply(views, [*events])

    assert await views.position() == await history.log.head()
    assert await history.rows(views) == await history.replayed()


async def test_pages_applied_again_change_nothing(views: Views, history: History) -> None:
    events = [*await history.log.tail(0)]
    await history.apply(views, events)
    before = await history.rows(views)

    for start in range(0, len(events), 5):
        assert await history.apply(views, events[start:]) == len(events)

    assert await history.rows(views) == before


async def test_a_page_that_leaves_a_gap_is_left_alone(views: Views, history: History) -> None:
    events = [*await history.log.tail(0)]
    await history.apply(views, events[:3])

    assert await history.apply(views, events[4:]) == 3

    assert await views.position() == 3


async def test_views_that_were_reset_are_rebuilt(views: Views, history: History) -> None:
    await history.runner(views).catch_up()
    before = await history.rows(views)

    await views.reset()
    assert await views.position() == 0
    assert (await views.checkpoint()).last_event == ""
    assert await all_rows(views) == []
    await history.runner(views).catch_up()

    assert await history.rows(views) == before


async def test_two_runners_at_once_give_the_rows_of_one(views: Views, history: History) -> None:
    runners = [history.runner(views) for _ in range(2)]
    await asyncio.gather(*(runner.catch_up() for runner in runners))

    assert await history.rows(views) == await history.replayed()


# Reading.


async def test_rows_are_found_by_id_and_by_tag(views: Views, history: History) -> None:
    await history.runner(views).catch_up()

    row = await views.get(SEARCHES, "s-live")
    assert row is not None
    assert row.status == "running"
    assert await views.tagged(SEARCHES, "running") == [("s-live", row)]
    assert [row_id for row_id, _ in await views.tagged(BRANDS, "live")] == [LIVE]
    assert await views.tagged(SEARCHES, "walking") == []
    ids = [row_id for row_id, _ in await views.all(SEARCHES)]
    assert ids == sorted(ids)


async def test_ids_are_found_by_any_of_some_tags(views: Views, history: History) -> None:
    """One key had its secret rotated, one was revoked: what is left opens the first."""
    runner = history.runner(views)
    await runner.catch_up()
    (key_id, row), *_ = [each for each in await views.all(USAGE) if not each[1].revoked]
    assert row.secret_hash == "h2", "the history rotates it"

    assert await views.ids_tagged(USAGE, ["h1", "h2", "'"]) == [(key_id, "h2")]
    assert await views.ids_tagged(USAGE, ["h1"]) == []
    assert await views.ids_tagged(USAGE, []) == []


async def test_an_id_that_a_caller_made_up_is_found_nowhere(
    views: Views, history: History
) -> None:
    await history.runner(views).catch_up()

    for row_id in ("", "a\0b", "s-done ", "'", "😀" * 2_000):
        assert await views.get(SEARCHES, row_id) is None


async def test_views_behind_what_an_answer_rests_on_do_not_answer(
    views: Views, history: History
) -> None:
    await history.runner(views).catch_up()
    head = await history.log.head()
    assert await views.get(SEARCHES, "s-done", head) is not None

    for read in (
        views.get(SEARCHES, "s-done", head + 1),
        views.tagged(SEARCHES, "running", head + 1),
        views.all(USAGE, head + 1),
        views.ids_tagged(USAGE, ["h2"], head + 1),
    ):
        with pytest.raises(LogUnavailable, match="rebuilt"):
            await read


# Hearing of it.


async def test_waiting_for_a_move_ends_at_the_commit(
    views: Views, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    wakes_by_commits_alone(monkeypatch)
    waiting = asyncio.create_task(views.moved(0))
    await asyncio.wait([waiting], timeout=0.05)
    assert not waiting.done()

    async with asyncio.timeout(20):
        await history.apply(views, [*await history.log.tail(0, 3)])
        assert await waiting == 3


async def test_a_move_that_was_made_is_reported_at_once_and_one_back_after_a_second(
    views: Views, history: History
) -> None:
    await history.apply(views, [*await history.log.tail(0, 3)])
    async with asyncio.timeout(20):
        assert await views.moved(2) == 3

    await views.reset()

    async with asyncio.timeout(5):
        assert await views.moved(3) == 0


# Several processes.


async def test_a_runner_with_an_earlier_lease_is_fenced(place: Place, history: History) -> None:
    events = [*await history.log.tail(0)]
    async with nodes(place, 2) as (old, new):
        assert await history.apply(old, events[:2], epoch=1) == 2
        assert await history.apply(new, events[:4], epoch=2) == 4

        with pytest.raises(Fenced):
            await history.apply(old, events[4:6], epoch=1)

        assert await new.position() == 4
        assert await history.apply(new, events[4:6], epoch=2) == 6


async def test_a_later_lease_fences_with_its_first_page_although_nothing_in_it_is_new(
    place: Place, history: History
) -> None:
    events = [*await history.log.tail(0)]
    async with nodes(place, 2) as (old, new):
        await history.apply(old, events[:2], epoch=1)
        await history.apply(new, events[:2], epoch=2)

        with pytest.raises(Fenced):
            await history.apply(old, events[2:4], epoch=1)


async def test_rows_and_checkpoint_are_of_one_moment_while_pages_are_applied(
    place: Place, history: History
) -> None:
    """A row read with the checkpoint says no less than the checkpoint."""
    reads = 0

    async def read(views: Views) -> None:
        nonlocal reads
        while (at := await views.position()) < await history.log.head():
            found = {search for search, _ in await views.all(SEARCHES, at)}
            assert found >= {s for s, first in admitted.items() if first <= at}
            reads += 1

    events = [*await history.log.tail(0)]
    admitted = {
        recorded.event.search: recorded.position
        for recorded in events
        if isinstance(recorded.event, SearchAdmitted)
    }
    async with nodes(place, 2) as (writer, reader):
        reading = asyncio.create_task(read(reader))
        for event in events:
            await history.apply(writer, [event])
        await reading

    assert reads > 3


# Lost and damaged.


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE {usage}",
        "DROP TABLE view_builds, {usage}, {searches}, {results}, {brands}",
        "DELETE FROM view_builds",
        "ALTER TABLE {usage} DROP COLUMN row",
    ],
)
async def test_lost_tables_are_rebuilt_while_a_runner_follows(
    views: Views, place: Place, history: History, harm: str
) -> None:
    runner = history.runner(views)
    await runner.catch_up()
    if isinstance(place, Path):
        harm = harm.partition(",")[0]  # SQLite drops one table at a time
    await sql(place, FILE, harm.format(**STORED))
    with following(runner):
        await write_more(history)
        async with asyncio.timeout(20):
            await runner.reached(await history.log.head())

        assert await history.rows(views) == await history.replayed()


async def write_more(history: History) -> None:
    await history.log.append([Append("key-three", NO_STREAM, [issued()])])


async def test_a_row_that_cannot_be_read_ends_no_writer_of_the_views(
    views: Views, place: Place, history: History
) -> None:
    runner = history.runner(views)
    await runner.catch_up()
    spoil = "UPDATE {table} SET row = $1 WHERE id = 'two'"
    more = [Append("key-two", 3, [QuotaGranted(units=3, at=AT)])]
    await history.log.append(more)
    newer = await history.log.tail(runner.position)

    await sql(place, FILE, spoil.format(table=table_of("usage")), b"noise")
    with pytest.raises(LogUnavailable, match="damaged; they are rebuilt"):
        await views.apply(newer, lambda _, body: body)
    assert await views.position() == 0
    await history.runner(views).catch_up()

    await sql(place, FILE, spoil.format(table=table_of("usage", 2)), b'{"label":"Jo\xff"}')
    again = [Append("key-two", 4, [QuotaGranted(units=4, at=AT)])]
    await history.log.append(again)
    runner = history.runner(views)
    with following(runner):
        async with asyncio.timeout(10):
            await runner.reached(await history.log.head())

    assert await views.tagged(ASIDE, SET_ASIDE) == []
    assert await history.rows(views) == await history.replayed()


# A database that is away.


async def test_after_a_crash_rows_and_checkpoint_still_belong_together(
    own_postgres: Postgres, history: History
) -> None:
    """Commits are not waited for, so the last pages may be lost, but never in part."""
    async with open_database(own_postgres.dsn) as pool, opened(views_in(pool)) as views:
        runner = history.runner(views)
        for event in await history.log.tail(0):
            await history.apply(views, [event])
        own_postgres.kill()
        for ask in (
            views.position(),
            views.get(SEARCHES, "s-done"),
            views.moved(1_000),
            views.apply([], lambda _, body: body),
            views.reset(),
        ):
            with pytest.raises(LogUnavailable, match="cannot be used"):
                await ask
        own_postgres.start()
        # Connections that were cut come first.
        at = await retry_while_unavailable(views.position)

        assert 0 <= at <= await history.log.head()
        await runner.catch_up()
        assert await history.rows(views) == await history.replayed()
        assert await views.moved(0) == await history.log.head()
