from hypothesis import given
from hypothesis import strategies as st

from cs.paid_calls.budgets.port import OverCap, Reservation, ServiceLimits, ServicePaused
from cs.paid_calls.budgets.rules import BudgetState, ReserveRequest, decide, pause

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
        state, result = decide(state, asked(limits, now=now, patience_s=patience_s))
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
        state, result = decide(state, asked(limits, micros=cost, spent=spent))
        fits = spent + cost <= min(day, month)
        assert isinstance(result, Reservation if fits else OverCap)
        spent += cost if fits else 0

    assert spent <= min(day, month)


def test_a_cap_says_when_its_period_ends() -> None:
    limits = ServiceLimits(calls_per_s=1, micros_per_day=0, micros_per_month=None)
    _, by_day = decide(BudgetState(), asked(limits, micros=1, now=MAY + 3600))
    limits = ServiceLimits(calls_per_s=1, micros_per_month=0)
    _, by_month = decide(BudgetState(), asked(limits, micros=1, now=MAY))

    assert isinstance(by_day, OverCap)
    assert (by_day.cap, by_day.left_s) == ("day", 23 * 3600)
    assert isinstance(by_month, OverCap)
    assert (by_month.cap, by_month.left_s) == ("month", 31 * 86_400)


def test_a_refused_call_takes_nothing_out_of_the_bucket() -> None:
    limits = ServiceLimits(calls_per_s=1, micros_per_day=0)
    state = BudgetState()
    assert decide(state, asked(limits, micros=1))[0] == state
    paused = pause(state, MAY + 5, "why")
    assert decide(paused, asked(limits)) == (paused, ServicePaused(5.0, "why"))


def asked(
    limits: ServiceLimits,
    *,
    micros: int = 0,
    now: float = MAY,
    spent: int = 0,
    patience_s: float = 0.0,
) -> ReserveRequest:
    return ReserveRequest(
        service="acme",
        limits=limits,
        micros=micros,
        now=now,
        spent_today=spent,
        spent_this_month=spent,
        patience_s=patience_s,
    )
