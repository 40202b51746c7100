"""Checks counted in PostgreSQL keep the contract, also over several nodes."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from contracts.checks import ChecksContract
from cs.checks.checks import CHECKS_PER_MINUTE
from cs.checks.postgres import PostgresChecks
from cs.eventlog.port import LogUnavailable
from cs.postgres.pool import Pool, open_pool, transaction
from cs.postgres.schema import migrate
from harness.servers.postgres import Postgres

AT = datetime(2026, 1, 1, tzinfo=UTC)


class OnPostgres:
    """Its clock cannot be moved, so what was counted is moved into the past instead."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._monotonic = 0.0
        self.checks = self.another_node()

    def another_node(self) -> PostgresChecks:
        return PostgresChecks(self._pool, lambda: self._monotonic)

    def now(self) -> datetime:
        return AT  # nobody reads it

    async def go_by(self, time: timedelta) -> None:
        self._monotonic += time.total_seconds()
        await self._pool.execute(
            "UPDATE checks SET at = at - $1::interval, "
            "times = ARRAY(SELECT t - $1::interval FROM unnest(times) AS t ORDER BY t)",
            time,
        )


@pytest.fixture
async def on_postgres(every_database: str) -> AsyncIterator[OnPostgres]:
    async with open_pool(every_database, role="test") as pool:
        async with pool.acquire() as connection:
            await migrate(connection, "service")
        yield OnPostgres(pool)


class TestPostgresChecks(ChecksContract):
    @pytest.fixture
    def counting(self, on_postgres: OnPostgres) -> OnPostgres:
        return on_postgres


async def test_nodes_share_a_key_s_120(on_postgres: OnPostgres) -> None:
    nodes = [on_postgres.another_node() for _ in range(3)]
    checks = await asyncio.gather(*(nodes[n % 3].count("one", AT) for n in range(150)))

    assert sum(check.counted for check in checks) == CHECKS_PER_MINUTE
    taken = [check.at for check in checks if check.counted]
    assert len(set(taken)) == CHECKS_PER_MINUTE


async def test_a_check_returns_the_version_of_its_key_s_stream(
    on_postgres: OnPostgres,
) -> None:
    insert = "INSERT INTO stored_events VALUES ('key-one', $1::bigint, '', '', $1::bigint + 1)"
    found = []
    for version in range(3):
        found.append((await on_postgres.checks.count("one", AT)).key_version)
        await on_postgres._pool.execute(insert, version)
    other = await on_postgres.checks.count("on", AT)

    assert (found, other.key_version) == ([None, 0, 1], None)


async def test_the_window_goes_by_the_sandbox_s_clock(on_postgres: OnPostgres) -> None:
    ahead = timedelta()
    seconds = lambda: ahead.total_seconds()  # noqa: E731, PLW0108  it is moved below
    node = PostgresChecks(on_postgres._pool, seconds, lambda: ahead)
    for _ in range(CHECKS_PER_MINUTE):
        await node.count("one", AT)
    assert not (await node.count("one", AT)).counted

    ahead = timedelta(days=3)

    assert (await node.count("one", AT)).window.remaining == CHECKS_PER_MINUTE - 1


async def test_a_flood_beyond_the_limit_asks_the_database_nothing(
    on_postgres: OnPostgres,
) -> None:
    for _ in range(CHECKS_PER_MINUTE + 1):
        await on_postgres.checks.count("one", AT)
    async with transaction(on_postgres._pool) as connection:
        await connection.execute("LOCK TABLE checks IN ACCESS EXCLUSIVE MODE")

        async with asyncio.timeout(5):
            check = await on_postgres.checks.count("one", AT)

    assert not check.counted


async def test_a_check_that_cannot_be_counted_raises(own_postgres: Postgres) -> None:
    async with open_pool(own_postgres.dsn, role="test") as pool:
        own_postgres.stop()
        checks = PostgresChecks(pool)

        with pytest.raises(LogUnavailable, match="cannot be counted"):
            await checks.count("one", AT)
        with pytest.raises(LogUnavailable, match="cannot be counted"):
            await checks.uncount("one", AT)


async def test_checks_of_many_keys_that_meet_are_counted_each_for_itself(
    on_postgres: OnPostgres,
) -> None:
    nodes = [on_postgres.another_node() for _ in range(2)]
    keys = [f"key-{n}" for n in range(20)]
    orders = (keys, keys[::-1], [*keys[10:], *keys[:10]])

    found = await asyncio.gather(
        *(node.count(key, AT) for order in orders for node in nodes for key in order)
    )

    asked = [key for order in orders for _ in nodes for key in order]
    left = {
        key: sorted(
            check.window.remaining for of, check in zip(asked, found, strict=True) if of == key
        )
        for key in keys
    }
    assert left == {key: [114, 115, 116, 117, 118, 119] for key in keys}
