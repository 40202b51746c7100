import asyncio
from collections.abc import AsyncIterator, Sequence

import asyncpg
import pytest

from cs.postgres.errors import WrongSchema
from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import STORES, Migration, Store, check, migrate, migrations, missing

FIRST = Migration(1, "things", "CREATE TABLE thing (one INTEGER)")
SECOND = Migration(2, "colours", "ALTER TABLE thing ADD COLUMN colour TEXT")
BROKEN = Migration(2, "broken", "CREATE TABLE other (one INTEGER); SELECT nonsense")


@pytest.fixture
async def pool(every_database: str) -> AsyncIterator[Pool]:
    async with open_pool(every_database, role="test") as pool:
        yield pool


async def _migrated(pool: Pool, steps: Sequence[Migration]) -> list[int]:
    async with connected(pool) as connection:
        return [step.number for step in await migrate(connection, "service", steps)]


async def _checked(pool: Pool, steps: Sequence[Migration]) -> None:
    async with connected(pool) as connection:
        await check(connection, "service", steps)


async def test_steps_are_applied_once_and_in_order(pool: Pool) -> None:
    assert await _migrated(pool, [FIRST]) == [1]
    assert await _migrated(pool, [FIRST, SECOND]) == [2]
    assert await _migrated(pool, [FIRST, SECOND]) == []

    await pool.execute("INSERT INTO thing VALUES (1, 'red')")
    await _checked(pool, [FIRST, SECOND])


async def test_of_many_at_once_one_applies_and_the_others_wait(pool: Pool) -> None:
    applied = await asyncio.gather(*(_migrated(pool, [FIRST, SECOND]) for _ in range(5)))

    assert sorted(applied) == [[], [], [], [], [1, 2]]


async def test_who_waits_is_not_ended_by_a_time_out(every_database: str) -> None:
    """A first migration may take longer than any statement of the service."""
    async with (
        open_pool(every_database, role="test", statement_timeout_s=0.2) as hasty,
        open_pool(every_database, role="test") as pool,
        connected(pool) as first,
    ):
        slow = Migration(1, "slow", "SELECT pg_sleep(1)")
        both = await asyncio.gather(migrate(first, "service", [slow]), _migrated(hasty, [slow]))

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


async def test_a_step_that_is_missing_is_told(pool: Pool) -> None:
    with pytest.raises(WrongSchema, match=r"lacks step 1 .*cs db migrate"):
        await _checked(pool, [FIRST])
    await _migrated(pool, [FIRST])

    with pytest.raises(WrongSchema, match="lacks step 2"):
        await _checked(pool, [FIRST, SECOND])
    async with connected(pool) as connection:
        assert await missing(connection, "service", [FIRST, SECOND]) == [SECOND]


async def test_a_step_that_fails_leaves_nothing_of_itself_and_keeps_the_ones_before(
    pool: Pool,
) -> None:
    with pytest.raises(asyncpg.PostgresError, match="nonsense"):
        await _migrated(pool, [FIRST, BROKEN])

    assert await pool.fetchval("SELECT to_regclass('other')") is None
    assert await _migrated(pool, [FIRST, SECOND]) == [2]  # the lock is free again


async def test_stores_may_share_a_database(pool: Pool) -> None:
    async with connected(pool) as connection:
        for store in STORES:
            applied = await migrate(connection, store)
            assert [step.number for step in applied] == list(range(1, len(applied) + 1))
            await check(connection, store)


@pytest.mark.parametrize("store", STORES)
def test_every_store_has_steps_numbered_without_gaps(store: Store) -> None:
    numbers = [step.number for step in migrations(store)]

    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


async def test_time_outs_are_as_before_a_migration(pool: Pool) -> None:
    async with connected(pool) as connection:
        before = await connection.fetchval("SHOW statement_timeout")
        await migrate(connection, "service", [FIRST])

        assert await connection.fetchval("SHOW statement_timeout") == before
        assert await connection.fetchval("SHOW lock_timeout") == before
