from collections.abc import AsyncIterator

import pytest

from cs.postgres.heartbeats import PostgresHeartbeats
from cs.postgres.pool import Pool, open_pool
from cs.postgres.schema import migrate


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with open_pool(database, role="test") as pool:
        async with pool.acquire() as connection:
            await migrate(connection, "service")
        yield pool


async def test_what_one_process_heard_another_knows(pool: Pool) -> None:
    recorder, driver = PostgresHeartbeats(pool), PostgresHeartbeats(pool)
    await recorder.record("brand-a.1", "verification", "acme.example", 1)

    silent = await driver.silent_for("brand-a.1", "verification", "acme.example", 1)

    assert silent is not None
    assert 0 <= silent < 5


async def test_a_database_that_is_away_loses_signs_and_nothing_else(pool: Pool) -> None:
    heartbeats = PostgresHeartbeats(pool)
    pool.terminate()

    await heartbeats.record("brand-a.1", "ranking", "", 1)

    assert await heartbeats.silent_for("brand-a.1", "ranking", "", 1) is None


async def test_a_sign_that_no_row_can_hold_is_lost_and_nothing_else(pool: Pool) -> None:
    heartbeats = PostgresHeartbeats(pool)

    await heartbeats.record("brand-a.1", "ranking", "", 3_000_000_000)
    await heartbeats.record("brand-a.1", "verification", "a\0b", 1)

    assert await heartbeats.silent_for("brand-a.1", "ranking", "", 3_000_000_000) is None
