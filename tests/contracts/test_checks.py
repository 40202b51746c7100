"""What every counter of the status and usage checks does (contract L3, L8)."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cs.checks.checks import CHECKS_PER_MINUTE, Check, Checks, MemoryChecks
from cs.checks.postgres import PostgresChecks
from cs.eventlog.port import LogUnavailable
from harness.places import Place, kinds

MINUTE = timedelta(seconds=60)
AT = datetime(2026, 1, 1, tzinfo=UTC)


class Counting:
    """A counter in a database, or in memory, and the time that it goes by.

    A database's clock cannot be moved, so what was counted is moved into the past instead.
    """

    def __init__(self, pool: Any = None) -> None:
        self.pool = pool
        self._now = AT
        self.checks = self.another_node()

    def another_node(self) -> Checks:
        if self.pool is None:
            return MemoryChecks()
        return PostgresChecks(self.pool, self._elapsed_s)

    def _elapsed_s(self) -> float:
        return (self._now - AT).total_seconds()

    def now(self) -> datetime:
        return self._now

    async def go_by(self, time: timedelta) -> None:
        self._now += time
        if self.pool is not None:
            await self.pool.execute(
                "UPDATE checks SET at = at - $1::interval, "
                "times = ARRAY(SELECT t - $1::interval FROM unnest(times) AS t ORDER BY t)",
                time,
            )


kind = kinds("memory", "postgres")


@pytest.fixture
def counting(kind: str, place: Place) -> Counting:
    return Counting(None if kind == "memory" else place)


async def count(counting: Counting, key: str = "one") -> Check:
    return await counting.checks.count(key, counting.now())


async def count_all(counting: Counting) -> None:
    for _ in range(CHECKS_PER_MINUTE):
        await count(counting)


async def test_each_check_leaves_one_less(counting: Counting) -> None:
    first, second = await count(counting), await count(counting)

    assert (first.counted, first.window.remaining) == (True, 119)
    assert (second.counted, second.window.remaining) == (True, 118)
    assert first.window.reset == MINUTE
    assert MINUTE - timedelta(seconds=5) < second.window.reset <= MINUTE


async def test_the_121st_is_refused_and_counts_nowhere(counting: Counting) -> None:
    await count_all(counting)
    last = await count(counting)
    await counting.go_by(timedelta(seconds=30))
    again = await count(counting)

    assert (last.counted, last.window.remaining) == (False, 0)
    assert (again.counted, again.window.remaining) == (False, 0)
    assert timedelta(seconds=20) < again.window.reset <= timedelta(seconds=30)
    await counting.go_by(again.window.reset)
    assert (await count(counting)).counted


async def test_the_window_rolls(counting: Counting) -> None:
    await count(counting)
    await counting.go_by(timedelta(seconds=40))
    await count(counting)
    await count(counting)
    await counting.go_by(timedelta(seconds=20))

    third = await count(counting)

    assert third.window.remaining == CHECKS_PER_MINUTE - 3
    assert timedelta(seconds=35) < third.window.reset <= timedelta(seconds=40)


async def test_a_window_gone_by_is_fresh(counting: Counting) -> None:
    await count_all(counting)
    await counting.go_by(MINUTE)

    assert (await count(counting)).window.remaining == 119


async def test_checks_of_a_clock_that_was_ahead_are_forgotten(counting: Counting) -> None:
    await count_all(counting)
    await counting.go_by(-timedelta(days=30))

    first = await count(counting)
    await count_all(counting)
    last = await count(counting)

    assert (first.counted, first.window.remaining) == (True, CHECKS_PER_MINUTE - 1)
    assert not last.counted
    assert last.window.reset <= MINUTE


async def test_keys_have_windows_of_their_own(counting: Counting) -> None:
    await count_all(counting)

    assert not (await count(counting)).counted
    assert (await count(counting, "two")).window.remaining == 119


async def test_a_check_taken_back_counts_no_more(counting: Counting) -> None:
    first = await count(counting)
    for _ in range(CHECKS_PER_MINUTE - 1):
        assert (await count(counting)).counted
    assert not (await count(counting)).counted

    await counting.checks.uncount("one", first.at)
    await counting.checks.uncount("never", first.at)

    assert (await count(counting)).counted
    assert not (await count(counting)).counted


async def test_of_many_at_once_120_are_taken(counting: Counting) -> None:
    taken = await asyncio.gather(*(count(counting) for _ in range(150)))

    assert sum(check.counted for check in taken) == CHECKS_PER_MINUTE
    left = sorted(check.window.remaining for check in taken if check.counted)
    assert left == list(range(CHECKS_PER_MINUTE))


async def test_a_check_of_exactly_a_minute_ago_has_left() -> None:
    checks = MemoryChecks()
    for _ in range(CHECKS_PER_MINUTE):
        await checks.count("one", AT)

    just_before = AT + MINUTE - timedelta(microseconds=1)
    assert not (await checks.count("one", just_before)).counted
    assert (await checks.count("one", AT + MINUTE)).counted


# Over several nodes.


@pytest.fixture
def nodes(pool: Any) -> Counting:
    return Counting(pool)


async def test_nodes_share_a_key_s_120(nodes: Counting) -> None:
    three = [nodes.another_node() for _ in range(3)]
    checks = await asyncio.gather(*(three[n % 3].count("one", AT) for n in range(150)))

    assert sum(check.counted for check in checks) == CHECKS_PER_MINUTE
    taken = [check.at for check in checks if check.counted]
    assert len(set(taken)) == CHECKS_PER_MINUTE


async def test_a_check_returns_the_version_of_its_key_s_stream(
    nodes: Counting,
) -> None:
    insert = "INSERT INTO stored_events VALUES ('key-one', $1::bigint, '', '', $1::bigint + 1)"
    found = []
    for version in range(3):
        found.append((await nodes.checks.count("one", AT)).key_version)
        await nodes.pool.execute(insert, version)
    other = await nodes.checks.count("on", AT)

    assert (found, other.key_version) == ([None, 0, 1], None)


async def test_the_window_goes_by_the_sandbox_s_clock(nodes: Counting) -> None:
    ahead = timedelta()
    seconds = lambda: ahead.total_seconds()  # noqa: E731, PLW0108  it is moved below
    node = PostgresChecks(nodes.pool, seconds, lambda: ahead)
    for _ in range(CHECKS_PER_MINUTE):
        await node.count("one", AT)
    assert not (await node.count("one", AT)).counted

    ahead = timedelta(days=3)

    assert (await node.count("one", AT)).window.remaining == CHECKS_PER_MINUTE - 1


async def test_a_flood_beyond_the_limit_asks_the_database_nothing(
    nodes: Counting,
) -> None:
    for _ in range(CHECKS_PER_MINUTE + 1):
        await nodes.checks.count("one", AT)
    async with nodes.pool.acquire() as connection, connection.transaction():
        await connection.execute("LOCK TABLE checks IN ACCESS EXCLUSIVE MODE")

        async with asyncio.timeout(5):
            check = await nodes.checks.count("one", AT)

    assert not check.counted


async def test_a_check_that_cannot_be_counted_raises(nodes: Counting) -> None:
    nodes.pool.terminate()

    with pytest.raises(LogUnavailable, match="cannot be counted"):
        await nodes.checks.count("one", AT)
    with pytest.raises(LogUnavailable, match="cannot be counted"):
        await nodes.checks.uncount("one", AT)


async def test_checks_of_many_keys_that_meet_are_counted_each_for_itself(
    nodes: Counting,
) -> None:
    three = [nodes.another_node() for _ in range(2)]
    keys = [f"key-{n}" for n in range(20)]
    orders = (keys, keys[::-1], [*keys[10:], *keys[:10]])

    found = await asyncio.gather(
        *(node.count(key, AT) for order in orders for node in three for key in order)
    )

    asked = [key for order in orders for _ in three for key in order]
    left = {
        key: sorted(
            check.window.remaining for of, check in zip(asked, found, strict=True) if of == key
        )
        for key in keys
    }
    assert left == {key: [114, 115, 116, 117, 118, 119] for key in keys}
