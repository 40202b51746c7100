"""What every account of paid services does, wherever it keeps it."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import msgspec

from cs.paid_calls.budgets.port import (
    BucketEmpty,
    Budgets,
    OverCap,
    Reservation,
    ReserveResult,
    ServiceLimits,
    ServicePaused,
    Spending,
)

FREE = ServiceLimits(calls_per_s=1000.0, burst=1000)


class BudgetsContract:
    """Inherit, and give a fixture ``budgets``, an empty account, and `later`."""

    daily: ClassVar = msgspec.structs.replace(FREE, micros_per_day=100)

    @abstractmethod
    async def later(self, budgets: Budgets, days: int) -> None:
        """Make what *budgets* knows so many days older; the days of it too."""

    async def test_a_reserve_counts_until_it_is_settled_and_then_what_was_paid(
        self, budgets: Budgets
    ) -> None:
        first = reserved(await budgets.reserve("acme", FREE, 70))
        assert (await only(budgets)).micros_today == 70

        await budgets.settle(first, 20)
        second = reserved(await budgets.reserve("acme", FREE, 50))
        await budgets.settle(second, 0, made=False)

        spent = await only(budgets)
        assert (spent.calls_today, spent.micros_today) == (1, 20)
        assert (spent.calls_this_month, spent.micros_this_month) == (1, 20)

    async def test_a_call_that_could_cost_more_than_is_left_of_a_cap_is_not_made(
        self, budgets: Budgets
    ) -> None:
        first = reserved(await budgets.reserve("acme", self.daily, 60))
        over = await budgets.reserve("acme", self.daily, 41)
        assert isinstance(over, OverCap)
        assert (over.cap, over.spent_micros) == ("day", 60)
        assert 0 < over.left_s <= 86_400

        await budgets.settle(first, 59)
        assert isinstance(await budgets.reserve("acme", self.daily, 41), Reservation)
        assert isinstance(await budgets.reserve("other", self.daily, 100), Reservation)

    async def test_of_many_at_once_no_more_pay_than_the_cap_allows(
        self, budgets: Budgets
    ) -> None:
        found = await asyncio.gather(
            *(budgets.reserve("acme", self.daily, 30) for _ in range(12))
        )

        assert sum(isinstance(each, Reservation) for each in found) == 3
        assert (await only(budgets)).micros_today == 90

    async def test_yesterday_counts_for_the_month_and_not_for_today(
        self, budgets: Budgets
    ) -> None:
        monthly = msgspec.structs.replace(self.daily, micros_per_month=150)
        reserved(await budgets.reserve("acme", monthly, 100))
        await self.later(budgets, days=1)

        spent = await only(budgets)
        again = await budgets.reserve("acme", monthly, 60)

        assert spent.micros_today == 0
        if spent.micros_this_month:  # on the first of a month yesterday was another
            assert isinstance(again, OverCap)
            assert again.cap == "month"
        await self.later(budgets, days=31)
        assert (await only(budgets)).micros_this_month == 0

    async def test_the_bucket_lets_a_burst_through_and_then_its_rate(
        self, budgets: Budgets
    ) -> None:
        slow = ServiceLimits(calls_per_s=0.001, burst=2)
        found = await asyncio.gather(*(budgets.reserve("acme", slow, 0) for _ in range(4)))

        busy = [each for each in found if isinstance(each, BucketEmpty)]
        assert len(busy) == 2
        assert all(990 < each.left_s <= 1000 for each in busy)

    async def test_who_waits_keeps_a_place_of_his_own(self, budgets: Budgets) -> None:
        limits = ServiceLimits(calls_per_s=0.1)
        found = [await budgets.reserve("acme", limits, 0, patience_s=25) for _ in range(4)]

        delays = [reserved(each).delay_s for each in found[:3]]
        assert delays[0] == 0
        assert 9 < delays[1] <= 10
        assert 19 < delays[2] <= 20
        assert isinstance(found[3], BucketEmpty)

    async def test_a_pause_stops_everybody_but_who_finds_out_whether_it_is_over(
        self, budgets: Budgets
    ) -> None:
        await budgets.pause("acme", 60, "rate-limited")
        await budgets.pause("acme", 5, "shorter")

        stopped = await budgets.reserve("acme", FREE, 1)
        through = await budgets.reserve("acme", FREE, 1, through_pause=True)
        paused = await only(budgets)
        await budgets.resume("acme")

        assert isinstance(stopped, ServicePaused)
        assert stopped.why == paused.paused_why == "rate-limited"
        assert 50 < stopped.left_s <= 60
        assert isinstance(through, Reservation)
        assert isinstance(await budgets.reserve("acme", FREE, 1), Reservation)
        assert (await only(budgets)).paused_why == ""

    async def test_nobody_was_asked_is_an_empty_account(self, budgets: Budgets) -> None:
        await budgets.resume("acme")

        assert await budgets.spending() == []


async def only(budgets: Budgets) -> Spending:
    found: Sequence[Spending] = await budgets.spending()
    (spent,) = found
    return spent


def reserved(found: ReserveResult) -> Reservation:
    assert isinstance(found, Reservation), found
    return found
