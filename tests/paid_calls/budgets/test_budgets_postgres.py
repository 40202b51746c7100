import asyncio

import pytest

from contracts.budgets import FREE, BudgetsContract
from cs.paid_calls.budgets.port import Budgets, OverCap, Reservation
from cs.paid_calls.budgets.postgres import PostgresBudgets
from cs.paid_calls.errors import CallsUnavailable
from cs.postgres.pool import Pool, open_pool
from postgres.stages_tables import pool

__all__ = ["pool"]


@pytest.fixture
def budgets(pool: Pool) -> PostgresBudgets:
    return PostgresBudgets(pool)


class TestPostgresBudgets(BudgetsContract):
    async def later(self, budgets: Budgets, days: int) -> None:
        assert isinstance(budgets, PostgresBudgets)
        await budgets._pool.execute("UPDATE spending SET day = day - $1::int", days)


async def test_workers_on_pools_of_their_own_keep_one_cap_and_one_bucket(
    budgets: PostgresBudgets, database: str
) -> None:
    async with open_pool(database, role="other") as other:
        workers = [budgets, PostgresBudgets(other)]
        limits = BudgetsContract.daily
        found = await asyncio.gather(
            *(workers[n % 2].reserve("acme", limits, 30) for n in range(12))
        )
        slots = await asyncio.gather(
            *(workers[n % 2].reserve("slow", _TEN_S, 0, patience_s=1000) for n in range(8))
        )

    assert sum(isinstance(each, Reservation) for each in found) == 3
    assert sum(isinstance(each, OverCap) for each in found) == 9
    delays = sorted(each.delay_s for each in slots if isinstance(each, Reservation))
    assert [round(delay / 10) for delay in delays] == list(range(8))


async def test_a_database_that_is_away_or_older_lets_nobody_ask(
    pool: Pool, budgets: PostgresBudgets
) -> None:
    await pool.execute("DROP TABLE services")
    with pytest.raises(CallsUnavailable, match="services"):
        await budgets.reserve("acme", FREE, 1)
    pool.terminate()

    for asked in (budgets.reserve("acme", FREE, 1), budgets.spending()):
        with pytest.raises(CallsUnavailable):
            await asked


_TEN_S = BudgetsContract.daily.__class__(calls_per_s=0.1)
