"""Views in PostgreSQL: the contract, several processes, several versions, lost tables."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from contracts.view_generations import Opened, ViewGenerationsContract, upgraded
from contracts.views import EVERY, History, ViewsContract
from cs.domain.key import QuotaGranted, SearchAdmitted
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.streams import Streams
from cs.postgres.errors import Fenced
from cs.postgres.pool import Pool, open_pool
from cs.projections.catalogue import projections
from cs.projections.following import ViewFollower
from cs.projections.generation import table_names
from cs.projections.postgres import views as postgres_views
from cs.projections.postgres.views import PostgresViews
from cs.projections.projection import Projection
from cs.projections.reading import Reading
from cs.projections.searches import SEARCHES
from cs.projections.set_aside import ASIDE, SET_ASIDE
from cs.projections.usage import USAGE
from domain.acme_run import AT
from harness.servers.postgres import Postgres
from projections.history import ADA_IS_AT, DONE, issued, write
from projections.long_history import write_long


class TestPostgresViews(ViewsContract):
    @pytest.fixture
    async def views(self, every_database: str) -> AsyncIterator[PostgresViews]:
        async with node(every_database) as views:
            yield views


class TestGenerationsInPostgres(ViewGenerationsContract):
    @pytest.fixture
    def opened(self, database: str) -> Opened:
        return lambda versions: node(database, list(versions))


@asynccontextmanager
async def node(
    dsn: str, versions: Sequence[Projection] | None = None, **more: Any
) -> AsyncIterator[PostgresViews]:
    """Yield views as one process has them."""
    async with open_pool(dsn, role="test") as pool:
        views = PostgresViews(pool, versions or projections(), **more)
        yield views
        await views.close()


@asynccontextmanager
async def nodes(dsn: str, number: int) -> AsyncIterator[list[PostgresViews]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(node(dsn)) for _ in range(number)]


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    """The database, for who looks into it from outside."""
    async with open_pool(database, role="test") as pool:
        yield pool


@pytest.fixture
async def history() -> History:
    history = History()
    await write(history.log)
    return history


class NewerSearches(type(projections()[0])):  # type: ignore[misc]
    version = 99


TABLES = table_names(projections())


def newer() -> list[Projection]:
    return [NewerSearches(), *projections()[1:]]


async def tables(pool: Pool) -> set[str]:
    found = await pool.fetch("SELECT tablename FROM pg_tables WHERE tablename LIKE 'view\\_%'")
    return {row["tablename"] for row in found} - {"view_sets", "view_copies", "view_editions"}


# Several processes.


async def test_runners_of_several_processes_give_the_rows_of_one(
    database: str, history: History
) -> None:
    async with nodes(database, 3) as views:
        await asyncio.gather(*(history.runner(each).catch_up() for each in views))

        for each in views:
            assert await each.position() == await history.log.head()
        assert await history.rows(views[0]) == await history.replayed()


async def test_a_move_in_one_process_wakes_another(database: str, history: History) -> None:
    async with nodes(database, 2) as (writer, reader):
        waiting = asyncio.create_task(reader.moved(0))
        await asyncio.wait([waiting], timeout=0.2)

        async with asyncio.timeout(0.8):
            await history.apply(writer, [*await history.log.tail(0, 3)])
            assert await waiting == 3


async def test_a_page_of_whatever_size_is_a_few_statements(
    database: str, history: History
) -> None:
    pages = [[*await history.log.tail(after, 25)] for after in (0, 25)]
    async with open_pool(database, role="test", most=1) as pool:
        views = PostgresViews(pool, projections())
        await history.apply(views, pages[0])
        sent: list[str] = []
        async with pool.acquire() as connection:
            connection.add_query_logger(lambda record: sent.append(record.query.split()[0]))
        await history.apply(views, pages[1])
        await views.close()

    # The checkpoint, what stands beside the rows, rows that are there, rows and checkpoint.
    assert sent[:4] == ["BEGIN;", "SELECT", "SELECT", "SELECT"]
    assert sent[-2:] == ["WITH", "COMMIT;"]
    assert len(sent) <= 7, "one more question for rows that others name"


async def test_what_many_reuse_is_read_once_until_its_brand_changes(
    database: str, history: History
) -> None:
    async with node(database) as views:
        await history.runner(views).catch_up()
        reading = Reading(history.log, views, ViewFollower(history.log, views), history.keys)
        changed_at = (await Streams(history.log).brand(DONE)).position
        read = await reading.reusable(f"{DONE}.1", changed_at)
        await views.drop()

        assert read.body is not None
        assert ADA_IS_AT.encode() in read.body
        assert await reading.reusable(f"{DONE}.1", changed_at) == read
        with pytest.raises(LogUnavailable):  # the views are asked, and gone
            await reading.reusable(f"{DONE}.1", await history.log.head() + 1)
        assert (await reading.reusable(f"{DONE}.1")).body is None, "they are made anew"


async def test_a_row_from_before_its_brand_changed_is_not_kept(
    database: str, history: History
) -> None:
    async with node(database) as views:
        await history.runner(views).catch_up()
        reading = Reading(history.log, views, ViewFollower(history.log, views), history.keys)
        ahead = await views.position() + 1
        assert (await reading.reusable(f"{DONE}.1", ahead)).body is not None
        await views.drop()

        with pytest.raises(LogUnavailable):
            await reading.reusable(f"{DONE}.1", ahead)


async def test_a_move_that_was_notified_is_not_asked_for(
    database: str, history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [*await history.log.tail(0)]
    async with nodes(database, 2) as (writer, reader):
        await history.apply(writer, events[:2])
        assert await reader.moved(0) == 2
        asked: list[int] = []
        look = reader.position

        async def counted() -> int:
            asked.append(1)
            return await look()

        monkeypatch.setattr(reader, "position", counted)
        monkeypatch.setattr(postgres_views, "POLL_S", 60.0)  # nobody looks before
        for before, upto in ((2, 3), (3, 5)):
            waiting = asyncio.create_task(reader.moved(before))
            await history.apply(writer, events[before:upto])
            assert await waiting == upto
        assert asked == []
        monkeypatch.undo()

        await writer.reset()  # of which nobody is notified: the next look finds it
        assert await reader.moved(5) == 0
        await history.apply(writer, events[:4])
        assert await reader.moved(0) == 4


async def test_a_move_is_not_missed_for_one_of_another_version(
    database: str, history: History, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [*await history.log.tail(0)]
    async with nodes(database, 2) as (writer, reader), asyncio.timeout(10):
        await history.apply(writer, events[:2])
        assert await reader.moved(0) == 2
        monkeypatch.setattr(postgres_views, "POLL_S", 60.0)  # nobody looks before
        session = reader._listener._session
        assert session is not None
        session.woken.clear()
        await history.apply(writer, events[2:3])
        await session.woken.wait()
        session.woken.clear()
        await pool.execute("SELECT pg_notify($1, 'another 900')", postgres_views.CHANNEL)
        await session.woken.wait()

        assert await reader.moved(2) == 3


async def test_a_runner_with_an_earlier_lease_is_fenced(
    database: str, history: History
) -> None:
    events = [*await history.log.tail(0)]
    async with nodes(database, 2) as (old, new):
        assert await history.apply(old, events[:2], epoch=1) == 2
        assert await history.apply(new, events[:4], epoch=2) == 4

        with pytest.raises(Fenced):
            await history.apply(old, events[4:6], epoch=1)

        assert await new.position() == 4
        assert await history.apply(new, events[4:6], epoch=2) == 6


async def test_a_later_lease_fences_with_its_first_page_although_nothing_in_it_is_new(
    database: str, history: History
) -> None:
    events = [*await history.log.tail(0)]
    async with nodes(database, 2) as (old, new):
        await history.apply(old, events[:2], epoch=1)
        await history.apply(new, events[:2], epoch=2)

        with pytest.raises(Fenced):
            await history.apply(old, events[2:4], epoch=1)


async def test_rows_and_checkpoint_are_of_one_moment_while_pages_are_applied(
    database: str, history: History
) -> None:
    """A row read with the checkpoint says no less than the checkpoint."""
    reads = 0

    async def read(views: PostgresViews) -> None:
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
    async with nodes(database, 2) as (writer, reader):
        reading = asyncio.create_task(read(reader))
        for event in events:
            await history.apply(writer, [event])
        await reading

    assert reads > 3


# Several versions.


async def test_another_version_is_built_beside_the_one_that_is_read(
    database: str, history: History, pool: Pool
) -> None:
    async with node(database) as old, node(database, newer()) as new:
        await history.runner(old).catch_up()
        before = await history.rows(old)
        await history.apply(new, [*await history.log.tail(0, 4)])

        assert (await old.position(), await new.position()) == (await history.log.head(), 4)
        assert await history.rows(old) == before
        await history.runner(new).catch_up()
        await new.retire()

        assert await history.rows(new) == before
        assert await history.rows(old) == before
        assert len(await tables(pool)) == 2 * len(TABLES)


async def test_tables_that_nobody_used_for_the_grace_are_dropped(
    database: str, history: History, pool: Pool
) -> None:
    async with node(database) as old:
        await history.runner(old).catch_up()
    async with node(database, newer()) as new:
        await history.runner(new).catch_up()
        await pool.execute("UPDATE view_sets SET used_at = used_at - interval '2 days'")
        await new.retire()

        assert len(await tables(pool)) == len(TABLES)
        assert await history.rows(new) == await history.replayed()


async def test_a_reader_keeps_its_tables_from_being_dropped(
    database: str, history: History, pool: Pool
) -> None:
    async with node(database) as old, node(database, newer()) as new:
        await history.runner(old).catch_up()
        await pool.execute("UPDATE view_sets SET used_at = used_at - interval '2 days'")
        await old.moved(1_000)
        await new.retire()

        assert await history.rows(old) == await history.replayed()


async def test_a_version_whose_tables_were_dropped_begins_again(
    database: str, history: History
) -> None:
    async with node(database) as old, node(database, newer(), grace_s=0) as new:
        await history.runner(old).catch_up()
        await new.retire()

        with pytest.raises(LogUnavailable, match="made anew"):
            await old.get(SEARCHES, "s-done", 1)
        await history.runner(old).catch_up()

        assert await history.rows(old) == await history.replayed()


# Lost and damaged.


@pytest.mark.parametrize(
    "harm",
    [
        "DROP TABLE {usage}",
        "DROP TABLE view_sets",
        "DROP TABLE view_sets, {usage}, {searches}, {results}, {brands}",
        "DELETE FROM view_sets",
        "ALTER TABLE {usage} DROP COLUMN row",
    ],
)
async def test_lost_tables_are_made_anew_while_a_runner_follows(
    database: str, history: History, pool: Pool, harm: str
) -> None:
    async with node(database) as views:
        runner = history.runner(views)
        await runner.catch_up()
        names = {name: views._set.names.table(name) for name in TABLES}
        await pool.execute(harm.format(**names))
        following = asyncio.create_task(runner.run())
        await write_more(history)

        async with asyncio.timeout(20):
            await runner.reached(await history.log.head())

        assert await history.rows(views) == await history.replayed()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def write_more(history: History) -> None:
    await history.log.append([Append("key-three", NO_STREAM, [issued()])])


async def test_a_row_that_cannot_be_read_empties_the_views_rather_than_mislead(
    database: str, history: History, pool: Pool
) -> None:
    async with node(database) as views:
        await history.runner(views).catch_up()
        usage = views._set.names.table("usage")
        await pool.execute(f"UPDATE {usage} SET row = 'noise' WHERE id = 'one'")

        with pytest.raises(LogUnavailable, match="damaged; they are made anew"):
            await views.get(USAGE, "one")
        assert await views.position() == 0
        await history.runner(views).catch_up()

        assert await history.rows(views) == await history.replayed()


async def test_a_row_that_cannot_be_read_ends_nobody_who_writes_the_views(
    database: str, history: History, pool: Pool
) -> None:
    async with node(database) as views:
        runner = history.runner(views)
        await runner.catch_up()
        usage = views._set.names.table("usage")
        spoil = f"UPDATE {usage} SET row = $1 WHERE id = 'two'"
        more = [Append("key-two", 3, [QuotaGranted(units=3, at=AT)])]
        await history.log.append(more)
        newer = await history.log.tail(runner.position)

        await pool.execute(spoil, b"noise")
        with pytest.raises(LogUnavailable, match="damaged; they are made anew"):
            await views.ahead(newer, lambda _, body: body)
        assert await views.position() == 0
        await history.runner(views).catch_up()

        await pool.execute(spoil, b'{"label":"Jo\xff"}')
        again = [Append("key-two", 4, [QuotaGranted(units=4, at=AT)])]
        await history.log.append(again)
        await history.runner(views).catch_up()

        assert await views.tagged(ASIDE, SET_ASIDE) == []
        assert await history.rows(views) == await history.replayed()


# A database that is away.


async def test_a_database_that_is_away_is_told_and_comes_back(
    own_postgres: Postgres, history: History
) -> None:
    async with node(own_postgres.dsn) as views:
        await history.runner(views).catch_up()
        assert await views.moved(0) > 0
        own_postgres.stop()
        for ask in (
            views.position(),
            views.get(SEARCHES, "s-done"),
            views.moved(1_000),
            views.ahead(await history.log.tail(3), lambda _, body: body),
            views.apply([], lambda _, body: body),
            views.reset(),
        ):
            with pytest.raises(LogUnavailable, match="cannot be used"):
                await ask
        own_postgres.start()

        assert await history.rows(views) == await history.replayed()
        assert await views.moved(0) == await history.log.head()


async def test_after_a_crash_rows_and_checkpoint_still_belong_together(
    own_postgres: Postgres, history: History
) -> None:
    """Commits are not waited for, so the last pages may be lost, but never in part."""
    async with node(own_postgres.dsn) as views:
        runner = history.runner(views)
        for event in await history.log.tail(0):
            await history.apply(views, [event])
        own_postgres.kill()
        own_postgres.start()
        # Connections that were cut come first.
        at = await retry_while_unavailable(views.position)

        assert 0 <= at <= await history.log.head()
        await runner.catch_up()
        assert await history.rows(views) == await history.replayed()


def test_every_table_of_the_projections_is_in_a_set() -> None:
    assert {table.name for table in EVERY} == set(TABLES)


async def test_two_that_copy_at_once_both_begin(database: str, history: History) -> None:
    async with node(database) as old:
        await history.runner(old).catch_up()
    async with (
        node(database, upgraded("usage")) as one,
        node(database, upgraded("usage")) as two,
    ):
        for each in (one, two):
            assert await each.position() == 0
        runners = [history.runner(each) for each in (one, two)]
        await asyncio.gather(*(retry_while_unavailable(each.catch_up) for each in runners))

        assert await history.rows(one) == await history.replayed()


async def test_rows_that_may_not_be_read_are_made_from_the_log(
    database: str, history: History
) -> None:
    async with node(database) as old:
        await history.runner(old).catch_up()
        connection = await asyncpg.connect(database)
        await connection.execute(
            f"ALTER TABLE {old._set.names.table('returned')} ALTER row TYPE text USING 'x'"
        )
        await connection.close()
    async with node(database, upgraded("usage")) as new:
        await history.runner(new).catch_up()

        assert await history.rows(new) == await history.replayed()


# A long log.


@pytest.mark.slow
async def test_runners_that_race_over_a_long_log_give_the_rows_of_one(database: str) -> None:
    history = History()
    await write_long(history.log, 4_000)
    async with nodes(database, 3) as views:
        runners = [history.runner(each) for each in views]
        await asyncio.gather(*(runner.catch_up() for runner in runners))

        assert await history.rows(views[0]) == await history.replayed()
        assert await views[0].position() == await history.log.head()
