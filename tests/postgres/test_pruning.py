"""Starts of lookups that no ceiling needs are removed while the service works."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from contracts.event_log import AT
from contracts.event_log_ceiling import DAY, start
from cs.assembly.roles import run_api
from cs.eventlog.port import Ceiling, CeilingReached
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.postgres.pool import Pool, connected, open_pool
from cs.postgres.schema import migrate
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.settings import Settings
from harness.memory_keys import MemoryKeyStore
from harness.servers.databases import new_database
from postgres.migrated import migrated

HOUR = timedelta(hours=1)


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with migrated(database), open_pool(database, role="test") as pool:
        yield pool


async def numbers(pool: Pool) -> list[int]:
    rows = await pool.fetch("SELECT number FROM lookup_starts ORDER BY number")
    return [row["number"] for row in rows]


async def pruned(log: PostgresEventLog, pool: Pool) -> list[int]:
    """Return the numbers of the starts that are left after one round."""
    before = await numbers(pool)
    pruning = asyncio.create_task(log.prune_starts())
    async with asyncio.timeout(10):
        while await numbers(pool) == before:
            assert not pruning.done()
    pruning.cancel()
    return await numbers(pool)


async def test_starts_that_no_ceiling_needs_are_removed(pool: Pool) -> None:
    async with PostgresEventLog(pool, MemoryKeyStore()) as log:
        for n, hour in enumerate([*range(8), 40, 60, 70]):
            await start(log, n, AT + hour * HOUR, None)

        assert await pruned(log, pool) == [9, 10, 11], "of the last 48 hours before the newest"
        at = AT + 71 * HOUR
        assert await log.ceiling_opens_at(Ceiling(at, 2)) == AT + 60 * HOUR + DAY
        assert await log.ceiling_opens_at(Ceiling(at, 5)) is None
        with pytest.raises(CeilingReached):
            await start(log, 90, at, 2)
        await start(log, 90, at, 3)
        assert await numbers(pool) == [9, 10, 11, 12]


async def test_the_newest_start_stays_and_numbers_go_on(pool: Pool) -> None:
    async with PostgresEventLog(pool, MemoryKeyStore()) as log:
        for n, hour in enumerate([0, -100, 1000], 1):  # a clock stepped back
            await start(log, n, AT + hour * HOUR, None)

        assert await pruned(log, pool) == [3]


async def test_a_process_that_answers_calls_prunes(postgres: str, tmp_path: Path) -> None:
    key_file = tmp_path / "master.key"
    key_file.write_bytes(bytes(32))
    key_file.chmod(0o600)
    async with new_database(postgres) as dsn, new_database(postgres) as keys_dsn:
        async with open_pool(keys_dsn, role="test") as pool, connected(pool) as connection:
            await migrate(connection, "keys")
        async with migrated(dsn) as pool, PostgresEventLog(pool, MemoryKeyStore()) as log:
            await Operator(Streams(log), SystemClock()).choose_world("live")
            for n, hour in enumerate([0, 1, 100]):
                await start(log, n, AT + hour * HOUR, None)
            views = postgres_views(pool, projections())
            await ViewRunner(log, views, MemoryKeyStore()).catch_up()
            await views.close()
            settings = Settings(postgres=dsn, keys_postgres=keys_dsn, master_key_file=key_file)

            async with asyncio.timeout(20), run_api(settings, "live"):
                while await numbers(pool) != [3]:
                    pass
