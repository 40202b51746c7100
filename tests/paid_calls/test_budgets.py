"""The account of paid services, in a SQLite file and in PostgreSQL."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.paid_calls.budgets import (
    _LOCK_TOTAL,
    BucketEmpty,
    Budgets,
    BudgetState,
    OverCap,
    Reservation,
    ReserveRequest,
    ReserveResult,
    ServiceLimits,
    ServicePaused,
    Spending,
    SpentOfDay,
    TotalCaps,
    decide,
)
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.forecast import read_forecast
from harness.places import Place, budgets_in

FREE = ServiceLimits(calls_per_s=1000.0, burst=1000)
DAILY = msgspec.structs.replace(FREE, micros_per_day=100)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "spending.db"


@pytest.fixture
async def budgets(place: Place) -> AsyncIterator[Budgets]:
    async with budgets_in(place) as budgets:
        yield budgets


async def later(budgets: Budgets, days: int) -> None:
    """Make what *budgets* knows so many days older."""
    for day in [date.today() - timedelta(days=n) for n in range(2, -2, -1)]:  # noqa: DTZ011
        await budgets._database.fetch(
            "UPDATE spending SET day = $2 WHERE day = $1", day, day - timedelta(days=days)
        )


async def test_a_reserve_counts_until_it_is_settled_and_then_what_was_paid(
    budgets: Budgets,
) -> None:
    first = reserved(await reserve(budgets, "acme", FREE, 70))
    assert (await only(budgets)).micros_today == 70

    await budgets.settle(first, 20)
    second = reserved(await reserve(budgets, "acme", FREE, 50))
    await budgets.settle(second, 0, made=False)

    spent = await only(budgets)
    assert (spent.calls_today, spent.micros_today) == (1, 20)
    assert (spent.calls_this_month, spent.micros_this_month) == (1, 20)


async def test_a_call_that_could_cost_more_than_is_left_of_a_cap_is_not_made(
    budgets: Budgets,
) -> None:
    first = reserved(await reserve(budgets, "acme", DAILY, 60))
    over = await reserve(budgets, "acme", DAILY, 41)
    assert isinstance(over, OverCap)
    assert (over.cap, over.spent_micros) == ("day", 60)
    assert 0 < over.left_s <= 86_400

    await budgets.settle(first, 59)
    assert isinstance(await reserve(budgets, "acme", DAILY, 41), Reservation)
    assert isinstance(await reserve(budgets, "other", DAILY, 100), Reservation)


async def test_yesterday_counts_for_the_month_and_not_for_today(
    budgets: Budgets,
) -> None:
    monthly = msgspec.structs.replace(DAILY, micros_per_month=150)
    reserved(await reserve(budgets, "acme", monthly, 100))
    await later(budgets, days=1)

    spent = await only(budgets)
    again = await reserve(budgets, "acme", monthly, 60)

    assert spent.micros_today == 0
    if spent.micros_this_month:  # on the first of a month yesterday was another
        assert isinstance(again, OverCap)
        assert again.cap == "month"
    await later(budgets, days=31)
    assert (await only(budgets)).micros_this_month == 0


async def test_a_day_knows_the_mean_cost_of_a_call_of_its_dearest_service(
    budgets: Budgets,
) -> None:
    before = await read_forecast(budgets)
    for service, micros in (("acme", 10), ("acme", 21), ("other", 12), ("free", 0)):
        await reserve(budgets, service, FREE, micros)
    _, days = await budgets.by_day(7)

    assert before is None, "nothing was asked"
    assert [*days.values()] == [SpentOfDay(43, 15)]


async def test_the_bucket_lets_a_burst_through_and_then_its_rate(
    budgets: Budgets,
) -> None:
    slow = ServiceLimits(calls_per_s=0.001, burst=2)
    found = await asyncio.gather(*(reserve(budgets, "acme", slow, 0) for _ in range(4)))

    busy = [each for each in found if isinstance(each, BucketEmpty)]
    assert len(busy) == 2
    assert all(990 < each.left_s <= 1000 for each in busy)


async def test_each_waiting_call_has_a_slot_of_its_own(budgets: Budgets) -> None:
    limits = ServiceLimits(calls_per_s=0.1)
    found = [await reserve(budgets, "acme", limits, 0, patience_s=25) for _ in range(4)]

    delays = [reserved(each).delay_s for each in found[:3]]
    assert delays[0] == 0
    assert 9 < delays[1] <= 10
    assert 19 < delays[2] <= 20
    assert isinstance(found[3], BucketEmpty)


async def test_a_pause_stops_every_call_but_the_one_that_checks_whether_it_is_over(
    budgets: Budgets,
) -> None:
    await budgets.pause("acme", 60, "rate-limited")
    await budgets.pause("acme", 5, "shorter")

    stopped = await reserve(budgets, "acme", FREE, 1)
    through = await reserve(budgets, "acme", FREE, 1, through_pause=True)
    paused = await only(budgets)
    await budgets.resume("acme")

    assert isinstance(stopped, ServicePaused)
    assert stopped.why == paused.paused_why == "rate-limited"
    assert 50 < stopped.left_s <= 60
    assert isinstance(through, Reservation)
    assert isinstance(await reserve(budgets, "acme", FREE, 1), Reservation)
    assert (await only(budgets)).paused_why == ""


async def test_processes_on_one_account_keep_one_cap_and_one_bucket(place: Place) -> None:
    ten_s = ServiceLimits(calls_per_s=0.1)
    async with budgets_in(place) as one, budgets_in(place) as two:
        found = await asyncio.gather(
            *(reserve((one, two)[n % 2], "acme", DAILY, 30) for n in range(12))
        )
        slots = await asyncio.gather(
            *(reserve((one, two)[n % 2], "slow", ten_s, 0, patience_s=1000) for n in range(8))
        )

    assert sum(isinstance(each, Reservation) for each in found) == 3
    assert sum(isinstance(each, OverCap) for each in found) == 9
    delays = sorted(each.delay_s for each in slots if isinstance(each, Reservation))
    assert [round(delay / 10) for delay in delays] == list(range(8))


async def test_the_last_dollar_of_all_services_is_spent_once_over_all_nodes(
    place: Place,
) -> None:
    caps = TotalCaps(micros_per_day=100)
    async with budgets_in(place, caps=caps) as one, budgets_in(place, caps=caps) as two:
        found = await asyncio.gather(
            *(reserve((one, two)[n % 2], f"service-{n}", FREE, 30) for n in range(12))
        )
        first = next(each for each in found if isinstance(each, Reservation))
        free = await reserve(one, "free", FREE, 0)
        await two.settle(first, 20)
        again = [await reserve(one, "acme", FREE, micros) for micros in (21, 20)]
        over = await reserve(two, "free", FREE, 1)

    refused = [each for each in found if isinstance(each, OverCap)]
    assert (len(refused), len(found) - len(refused)) == (9, 3)
    assert {(each.cap, each.of_total) for each in refused} == {("day", True)}
    assert isinstance(free, Reservation), "what costs nothing goes on"
    assert [type(each) for each in again] == [OverCap, Reservation]
    assert isinstance(over, OverCap)
    assert (over.spent_micros, over.of_total) == (100, True)


@pytest.mark.parametrize("kind", [pytest.param("postgres", marks=pytest.mark.slow)])
async def test_a_free_call_does_not_wait_for_the_lock_of_all_services(place: Any) -> None:
    budgets = budgets_in(place, caps=TotalCaps(micros_per_day=100))
    async with place.acquire() as other, other.transaction():
        await other.execute(_LOCK_TOTAL)
        assert isinstance(await reserve(budgets, "free", FREE, 0), Reservation)


async def test_nothing_is_made_before_something_is_reserved(file: Path) -> None:
    async with budgets_in(file.parent) as budgets:
        assert await budgets.spending() == []
        await budgets.resume("acme")
        assert not budgets._database.exists  # type: ignore[attr-defined]


async def test_a_file_that_cannot_be_used_allows_no_call(file: Path) -> None:
    file.write_bytes(b"not a database, and long enough to be looked at" * 100)  # noqa: ASYNC240
    async with budgets_in(file.parent) as budgets:
        with pytest.raises(CallsUnavailable, match="the account of paid services"):
            await reserve(budgets, "acme", FREE, 1)
    file.unlink()  # noqa: ASYNC240
    async with budgets_in(file.parent, lock_timeout_s=0) as budgets:
        await reserve(budgets, "acme", FREE, 1)
        other = sqlite3.connect(file, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CallsUnavailable, match="locked"):
            await reserve(budgets, "acme", FREE, 1)
        other.close()


@pytest.mark.parametrize("kind", [pytest.param("postgres", marks=pytest.mark.slow)])
async def test_a_database_that_cannot_be_used_allows_no_call(place: Any) -> None:
    budgets = budgets_in(place)
    await place.execute("DROP TABLE services")
    with pytest.raises(CallsUnavailable, match="services"):
        await reserve(budgets, "acme", FREE, 1)
    place.terminate()
    for asked in (reserve(budgets, "acme", FREE, 1), budgets.spending()):
        with pytest.raises(CallsUnavailable):
            await asked


async def reserve(
    budgets: Budgets, service: str, limits: ServiceLimits, micros: int, **more: Any
) -> ReserveResult:
    asked = ReserveRequest(service=service, limits=limits, micros=micros, **more)
    return await budgets.reserve(asked)


async def only(budgets: Budgets) -> Spending:
    found: Sequence[Spending] = await budgets.spending()
    (spent,) = found
    return spent


def reserved(found: ReserveResult) -> Reservation:
    assert isinstance(found, Reservation), found
    return found


MAY = 1_777_593_600.0  # 2026-05-01T00:00:00Z


@given(
    rate=st.floats(0.01, 100),
    burst=st.integers(1, 20),
    gaps=st.lists(st.floats(0, 5), min_size=1, max_size=60),
    patience_s=st.floats(0, 30),
)
def test_in_no_stretch_of_time_are_more_calls_made_than_burst_and_rate_allow(
    rate: float, burst: int, gaps: list[float], patience_s: float
) -> None:
    limits = ServiceLimits(calls_per_s=rate, burst=burst)
    state, now, made = BudgetState(), MAY, list[float]()
    for gap in gaps:
        now += gap
        state, result = asked(state, limits, now=now, patience_s=patience_s)
        if isinstance(result, Reservation):
            assert 0 <= result.delay_s <= patience_s
            made.append(now + result.delay_s)

    assert made == sorted(made), "in the order they came"
    for n, first in enumerate(made):
        for m in range(n, len(made)):
            allowed = burst + (made[m] - first) * rate
            assert m - n + 1 <= allowed + 1e-3


@given(
    day=st.integers(0, 500),
    month=st.integers(0, 500),
    costs=st.lists(st.integers(0, 120), max_size=30),
)
def test_whatever_calls_cost_no_cap_is_passed(day: int, month: int, costs: list[int]) -> None:
    limits = ServiceLimits(
        calls_per_s=1000, burst=1000, micros_per_day=day, micros_per_month=month
    )
    state, spent = BudgetState(), 0
    for cost in costs:
        state, result = asked(state, limits, micros=cost, spent=spent)
        fits = spent + cost <= min(day, month)
        assert isinstance(result, Reservation if fits else OverCap)
        spent += cost if fits else 0

    assert spent <= min(day, month)


def test_a_cap_says_when_its_period_ends() -> None:
    limits = ServiceLimits(calls_per_s=1, micros_per_day=0, micros_per_month=None)
    _, by_day = asked(BudgetState(), limits, micros=1, now=MAY + 3600)
    limits = ServiceLimits(calls_per_s=1, micros_per_month=0)
    _, by_month = asked(BudgetState(), limits, micros=1)

    assert isinstance(by_day, OverCap)
    assert (by_day.cap, by_day.left_s) == ("day", 23 * 3600)
    assert isinstance(by_month, OverCap)
    assert (by_month.cap, by_month.left_s) == ("month", 31 * 86_400)


def asked(
    state: BudgetState,
    limits: ServiceLimits,
    *,
    micros: int = 0,
    now: float = MAY,
    spent: int = 0,
    patience_s: float = 0.0,
) -> tuple[BudgetState, ReserveResult]:
    request = ReserveRequest(
        service="acme", limits=limits, micros=micros, patience_s=patience_s
    )
    return decide(state, request, now, (spent, spent))
