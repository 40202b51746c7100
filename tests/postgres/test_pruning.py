"""Starts of lookups that no ceiling needs are removed while the service works."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from contracts.event_log import AT, DAY, start
from cs.eventlog.port import Ceiling, CeilingReached
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in

HOUR = timedelta(hours=1)


async def numbers(pool: Any) -> list[int]:
    rows = await pool.fetch("SELECT number FROM lookup_starts ORDER BY number")
    return [row["number"] for row in rows]


async def pruned(log: Any, pool: Any) -> list[int]:
    """Return the numbers of the starts that are left after one round."""
    before = await numbers(pool)
    pruning = asyncio.create_task(log.prune_starts())
    async with asyncio.timeout(10):
        while await numbers(pool) == before:
            assert not pruning.done()
    pruning.cancel()
    return await numbers(pool)


async def test_starts_that_no_ceiling_needs_are_removed(pool: Any) -> None:
    async with log_in(pool, MemoryKeyStore()) as log:
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


async def test_the_newest_start_stays_and_numbers_go_on(pool: Any) -> None:
    async with log_in(pool, MemoryKeyStore()) as log:
        for n, hour in enumerate([0, -100, 1000], 1):  # a clock stepped back
            await start(log, n, AT + hour * HOUR, None)

        assert await pruned(log, pool) == [3]
