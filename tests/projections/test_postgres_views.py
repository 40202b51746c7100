"""Views in PostgreSQL: the contracts, several processes, lost tables."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from contracts.view_rebuild import HARM, Place, ViewRebuildContract, ViewVersionsContract
from contracts.views import History, ViewsContract
from cs.domain.key import QuotaGranted, SearchAdmitted
from cs.eventlog.follow import retry_while_unavailable
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable
from cs.postgres.errors import Fenced
from cs.postgres.pool import Pool, open_pool
from cs.projections.builds import tables_of
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.rebuild import NotReplayable
from cs.projections.searches import SEARCHES
from cs.projections.set_aside import ASIDE, SET_ASIDE
from cs.projections.table import Projection
from cs.projections.views import GRACE_S, Views
from domain.acme_run import AT
from harness.servers.postgres import Postgres
from projections.history import issued, write
from projections.long_history import write_long
from projections.stored import table_of

STORED = {table.name: table_of(table.name) for table in tables_of(projections())}


class TestPostgresViews(ViewsContract):
    @pytest.fixture
    async def views(self, every_database: str) -> AsyncIterator[Views]:
        async with node(every_database) as views:
            yield views


class TestBuildsInADatabase(ViewRebuildContract, ViewVersionsContract):
    @pytest.fixture
    async def place(self, every_database: str) -> AsyncIterator[Place]:
        async with open_pool(every_database, role="test") as pool:

            async def execute(statement: str) -> None:
                words = {"blob": "as_blob", "text": "as_text"}
                said = statement.format(**STORED, **words)
                assert await pool.execute(said) not in {"UPDATE 0", "DELETE 0", "INSERT 0 0"}

            async def tables() -> Sequence[str]:
                found = await pool.fetch(
                    "SELECT relname::text FROM pg_class WHERE relname LIKE 'view%' "
                    "AND relkind IN ('r', 'i') ORDER BY 1"
                )
                return [name for (name,) in found]

            @asynccontextmanager
            async def opened(
                versions: Sequence[Projection] = projections(), *, grace_s: float = GRACE_S
            ) -> AsyncIterator[Views]:
                views = postgres_views(pool, versions, grace_s=grace_s)
                yield views
                await views.close()

            await pool.execute(_FUNCTIONS)
            async with opened() as running:
                place = Place(running, execute, tables, opened)
                await place.fill()
                yield place

    async def test_rights_that_new_tables_would_not_have_are_not_lost(
        self, place: Place
    ) -> None:
        await place.execute(HARM["changed"][0])
        await place.execute("GRANT SELECT ON {usage} TO PUBLIC")
        tables = await place.tables()

        with pytest.raises(NotReplayable, match="or have grants"):
            await place.run()

        assert (await place.run(switch=False)).different == {"usage": 1}
        assert await place.tables() == tables


_FUNCTIONS = """
CREATE FUNCTION as_blob(said text) RETURNS bytea LANGUAGE sql AS $$
    SELECT convert_to(said, 'UTF8')
$$;
CREATE FUNCTION as_text(said bytea) RETURNS text LANGUAGE sql AS $$
    SELECT convert_from(said, 'UTF8')
$$;
"""


@asynccontextmanager
async def node(dsn: str) -> AsyncIterator[Views]:
    """Yield views as one process has them."""
    async with open_pool(dsn, role="test") as pool:
        views = postgres_views(pool, projections())
        yield views
        await views.close()


@asynccontextmanager
async def nodes(dsn: str, number: int) -> AsyncIterator[list[Views]]:
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


# Several processes.


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
    async with nodes(database, 2) as (writer, reader):
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
        "DROP TABLE view_builds",
        "DROP TABLE view_builds, {usage}, {searches}, {results}, {brands}",
        "DELETE FROM view_builds",
        "ALTER TABLE {usage} DROP COLUMN row",
    ],
)
async def test_lost_tables_are_rebuilt_while_a_runner_follows(
    database: str, history: History, pool: Pool, harm: str
) -> None:
    async with node(database) as views:
        runner = history.runner(views)
        await runner.catch_up()
        await pool.execute(harm.format(**STORED))
        following = asyncio.create_task(runner.run())
        await write_more(history)

        async with asyncio.timeout(20):
            await runner.reached(await history.log.head())

        assert await history.rows(views) == await history.replayed()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


async def write_more(history: History) -> None:
    await history.log.append([Append("key-three", NO_STREAM, [issued()])])


async def test_a_row_that_cannot_be_read_ends_nobody_who_writes_the_views(
    database: str, history: History, pool: Pool
) -> None:
    async with node(database) as views:
        runner = history.runner(views)
        await runner.catch_up()
        spoil = "UPDATE {table} SET row = $1 WHERE id = 'two'"
        more = [Append("key-two", 3, [QuotaGranted(units=3, at=AT)])]
        await history.log.append(more)
        newer = await history.log.tail(runner.position)

        await pool.execute(spoil.format(table=table_of("usage")), b"noise")
        with pytest.raises(LogUnavailable, match="damaged; they are rebuilt"):
            await views.apply(newer, lambda _, body: body)
        assert await views.position() == 0
        await history.runner(views).catch_up()

        await pool.execute(spoil.format(table=table_of("usage", 2)), b'{"label":"Jo\xff"}')
        again = [Append("key-two", 4, [QuotaGranted(units=4, at=AT)])]
        await history.log.append(again)
        await history.runner(views).catch_up()

        assert await views.tagged(ASIDE, SET_ASIDE) == []
        assert await history.rows(views) == await history.replayed()


# A database that is away.


async def test_a_database_that_is_away_is_reported_and_comes_back(
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


@pytest.mark.slow
async def test_runners_that_race_over_a_long_log_give_the_rows_of_one(database: str) -> None:
    history = History()
    await write_long(history.log, 4_000)
    async with nodes(database, 3) as views:
        runners = [history.runner(each) for each in views]
        await asyncio.gather(*(runner.catch_up() for runner in runners))

        assert await history.rows(views[0]) == await history.replayed()
        assert await views[0].position() == await history.log.head()
