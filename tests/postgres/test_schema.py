import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest

from cs.postgres import schema
from cs.postgres.errors import DatabaseUnavailable, WrongSchema
from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import STORES, Migration, Store, check, migrate, migrations, missing

FIRST = Migration(1, "things", "CREATE TABLE thing (one INTEGER)")
SECOND = Migration(2, "colours", "ALTER TABLE thing ADD COLUMN colour TEXT")
BROKEN = Migration(2, "broken", "CREATE TABLE other (one INTEGER); SELECT nonsense")
INDEX = Migration(
    2, "index", "-- Of colours; all.\nCREATE INDEX CONCURRENTLY by_one ON thing (one);"
)
LATER_STEPS = [(store, step) for store in STORES for step in migrations(store)[1:]]


@pytest.fixture
async def pool(every_database: str) -> AsyncIterator[Pool]:
    async with open_pool(every_database, role="test") as pool:
        yield pool


async def migrated_to(
    connection: Any, steps: Sequence[Migration], store: Store = "service"
) -> Sequence[Migration]:
    """Migrate as a version does that has *steps*."""
    schema.migrations = lambda store: steps  # noqa: ARG005
    return await migrate(connection, store)


@pytest.fixture(autouse=True)
def own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the service's own steps again afterwards."""
    monkeypatch.setattr(schema, "migrations", migrations)


async def _migrated(pool: Pool, steps: Sequence[Migration]) -> list[int]:
    async with connected(pool) as connection:
        return [step.number for step in await migrated_to(connection, steps)]


async def _checked(pool: Pool, steps: Sequence[Migration]) -> None:
    async with connected(pool) as connection:
        schema.migrations = lambda store: steps  # noqa: ARG005
        await check(connection, "service")


async def test_steps_are_applied_once_and_in_order(pool: Pool) -> None:
    assert await _migrated(pool, [FIRST]) == [1]
    assert await _migrated(pool, [FIRST, SECOND]) == [2]
    assert await _migrated(pool, [FIRST, SECOND]) == []

    await pool.execute("INSERT INTO thing VALUES (1, 'red')")
    await _checked(pool, [FIRST, SECOND])


async def test_of_many_at_once_one_applies_and_the_others_wait(pool: Pool) -> None:
    applied = await asyncio.gather(*(_migrated(pool, [FIRST, SECOND]) for _ in range(5)))

    assert sorted(applied) == [[], [], [], [], [1, 2]]


async def test_waiting_for_a_migration_is_not_ended_by_a_time_out(
    every_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first migration may take longer than any statement of the service."""
    monkeypatch.setattr("cs.postgres.pool.STATEMENT_TIMEOUT_S", 0.2)
    async with (
        open_pool(every_database, role="test") as hasty,
        open_pool(every_database, role="test") as pool,
        connected(pool) as first,
    ):
        slow = Migration(1, "slow", "SELECT pg_sleep(1)")
        both = await asyncio.gather(migrated_to(first, [slow]), _migrated(hasty, [slow]))

    assert sorted(map(len, both)) == [0, 1]


async def test_an_old_version_runs_on_a_newer_schema(pool: Pool) -> None:
    await _migrated(pool, [FIRST, SECOND])

    await _checked(pool, [FIRST])
    assert await _migrated(pool, [FIRST]) == []


async def test_a_step_that_was_changed_is_refused(pool: Pool) -> None:
    await _migrated(pool, [FIRST])
    changed = Migration(1, "things", "CREATE TABLE thing (one BIGINT)")

    with pytest.raises(WrongSchema, match=r"step 1 .things. .* not the one of this version"):
        await _migrated(pool, [changed, SECOND])
    with pytest.raises(WrongSchema):
        await _checked(pool, [changed])
    assert await pool.fetchval("SELECT count(*) FROM schema_steps") == 1


async def test_a_step_that_is_missing_is_reported(pool: Pool) -> None:
    with pytest.raises(WrongSchema, match=r"lacks step 1 .*cs db migrate"):
        await _checked(pool, [FIRST])
    await _migrated(pool, [FIRST])

    with pytest.raises(WrongSchema, match="lacks step 2"):
        await _checked(pool, [FIRST, SECOND])
    async with connected(pool) as connection:
        assert await missing(connection, "service") == [SECOND]


async def test_a_step_that_fails_leaves_nothing_of_itself_and_keeps_the_ones_before(
    pool: Pool,
) -> None:
    with pytest.raises(asyncpg.PostgresError, match="nonsense"):
        await _migrated(pool, [FIRST, BROKEN])

    assert await pool.fetchval("SELECT to_regclass('other')") is None
    assert await _migrated(pool, [FIRST, SECOND]) == [2]  # the lock is free again


@pytest.mark.parametrize("store", STORES)
def test_every_store_has_steps_numbered_without_gaps(store: Store) -> None:
    numbers = [step.number for step in migrations(store)]

    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


async def test_time_outs_are_as_before_a_migration(pool: Pool) -> None:
    async with connected(pool) as connection:
        before = await connection.fetchval("SHOW statement_timeout")
        await migrated_to(connection, [FIRST])

        assert await connection.fetchval("SHOW statement_timeout") == before
        assert await connection.fetchval("SHOW lock_timeout") == before


async def _applied_or_waiting(pool: Pool, pid: int, migrating: asyncio.Task[object]) -> None:
    """Return once what runs in *migrating* has ended, or waits for a lock."""
    while not migrating.done():
        if await pool.fetchval(WAITS, pid):
            return


@pytest.mark.parametrize(
    ("store", "step"), LATER_STEPS, ids=[f"{s}-{step.name}" for s, step in LATER_STEPS]
)
async def test_no_step_stops_writers_while_a_long_transaction_runs(
    pool: Pool, store: Store, step: Migration
) -> None:
    """Whoever asks for a lock that stops writers stops them while it waits, too."""
    until = [each for each in migrations(store) if each.number <= step.number]
    async with (
        connected(pool) as long,
        connected(pool) as writer,
        connected(pool) as connection,
    ):
        await migrated_to(connection, until[:-1], store)
        tables = await pool.fetchval(TABLES)
        async with asyncio.TaskGroup() as tasks, long.transaction():
            await long.execute(f"LOCK TABLE {tables} IN ROW EXCLUSIVE MODE")
            migrating = tasks.create_task(migrated_to(connection, until, store))
            await _applied_or_waiting(pool, connection.get_server_pid(), migrating)
            async with writer.transaction():
                await writer.execute("SET LOCAL lock_timeout = '20s'")
                await writer.execute(f"LOCK TABLE {tables} IN ROW EXCLUSIVE MODE")

        assert migrating.result() == [step]


@pytest.mark.parametrize(
    ("store", "step"), LATER_STEPS, ids=[f"{s}-{step.name}" for s, step in LATER_STEPS]
)
async def test_no_step_reads_a_table_whole_under_a_lock(
    pool: Pool, store: Store, step: Migration
) -> None:
    """What is written again, indexed or held to a constraint is read whole: it may be large."""
    until = [each for each in migrations(store) if each.number <= step.number]
    async with connected(pool) as connection:
        await migrated_to(connection, until[:-1], store)
        tables = await pool.fetch(FILES)
        before = await pool.fetch(READ_WHOLE, [row["oid"] for row in tables])
        await migrated_to(connection, until, store)
        after = await pool.fetch(READ_WHOLE, [row["oid"] for row in tables])

    assert set(tables) <= set(await pool.fetch(FILES))
    assert [row["name"] for row in set(after) - set(before)] == (
        [step.index] if step.index else []
    )


async def test_waiting_for_a_migration_does_not_hold_up_its_index(pool: Pool) -> None:
    applied = await asyncio.gather(*(_migrated(pool, [FIRST, INDEX]) for _ in range(5)))

    assert sorted(applied) == [[], [], [], [], [1, 2]]
    assert await pool.fetchval(VALID, "by_one")


async def test_an_index_left_unfinished_by_a_kill_is_made_again(pool: Pool) -> None:
    await _migrated(pool, [FIRST])
    async with connected(pool) as long, long.transaction():
        await long.execute("INSERT INTO thing VALUES (1)")
        async with connected(pool) as connection:
            pid = connection.get_server_pid()
            migrating = asyncio.create_task(migrated_to(connection, [FIRST, INDEX]))
            await _applied_or_waiting(pool, pid, migrating)
            await pool.execute("SELECT pg_terminate_backend($1)", pid)
            with pytest.raises(DatabaseUnavailable):
                await migrating
    assert await pool.fetchval(VALID, "by_one") is False

    assert await _migrated(pool, [FIRST, INDEX]) == [2]
    assert await pool.fetchval(VALID, "by_one") is True


async def test_an_index_that_was_built_and_not_noted_is_not_built_again(pool: Pool) -> None:
    await _migrated(pool, [FIRST, INDEX])
    built = await pool.fetchval("SELECT 'by_one'::regclass::oid")
    await pool.execute("DELETE FROM schema_steps WHERE number = 2")

    assert await _migrated(pool, [FIRST, INDEX]) == [2]
    assert await pool.fetchval("SELECT 'by_one'::regclass::oid") == built


async def test_a_step_that_comes_to_the_same_as_before_says_so_and_is_taken(
    pool: Pool,
) -> None:
    await _migrated(pool, [FIRST, SECOND])
    today = Migration(2, "colours", f"-- Formerly {SECOND.digest}\n{SECOND.sql}")

    assert await _migrated(pool, [FIRST, today]) == []
    await _checked(pool, [FIRST, today])


WAITS = "SELECT EXISTS (SELECT FROM pg_locks WHERE pid = $1 AND NOT granted)"
VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
TABLES = """
SELECT string_agg(relname, ', ') FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    AND relname <> 'schema_steps'
"""
FILES = """
SELECT oid, relfilenode FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
"""
READ_WHOLE = """
SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = ANY($1)
UNION ALL
SELECT conname FROM pg_constraint WHERE conrelid = ANY($1) AND convalidated AND contype <> 'n'
"""
