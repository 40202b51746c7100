"""Whether a call may be made: a token bucket, a pause and two caps.  Pure.

The bucket is kept as one moment, the one at which it will be full again (the "theoretical
arrival time" of ITU-T I.371, annex A): one number to store, nothing to fill by the clock.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Literal

import msgspec

from cs.paid_calls.budgets.port import (
    BucketEmpty,
    OverCap,
    Reservation,
    ReserveResult,
    ServiceLimits,
    ServicePaused,
)


class BudgetState(msgspec.Struct, frozen=True):
    """What is stored of a service next to its account; moments are seconds since 1970.

    Attributes:
        full_at: When the bucket is full again without requests.
        paused_until: No request before that.
        paused_why: What it was paused with.
    """

    full_at: float = 0.0
    paused_until: float = 0.0
    paused_why: str = ""


class ReserveRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks for what, when, and what was spent so far.

    Attributes:
        now: Seconds since 1970.
    """

    service: str
    limits: ServiceLimits
    micros: int
    now: float
    spent_today: int
    spent_this_month: int
    patience_s: float = 0.0
    through_pause: bool = False


def day_of(now: float) -> date:
    """Return the day of UTC at *now*, seconds since 1970."""
    return datetime.fromtimestamp(now, UTC).date()


def first_of_month(day: date) -> date:
    return day.replace(day=1)


def decide(state: BudgetState, asked: ReserveRequest) -> tuple[BudgetState, ReserveResult]:
    """Return what becomes of *state* and the answer to *asked*.

    >>> limits = ServiceLimits(calls_per_s=1.0, micros_per_day=10)
    >>> once = ReserveRequest(service="acme", limits=limits, micros=7, now=0.0, spent_today=0,
    ...     spent_this_month=0)
    >>> state, first = decide(BudgetState(), once)
    >>> first.micros, decide(state, once)[1]
    (7, BucketEmpty(left_s=1.0))
    >>> decide(state, msgspec.structs.replace(once, spent_today=7))[1].cap
    'day'
    """
    pause_s = state.paused_until - asked.now
    if pause_s > 0 and not asked.through_pause:
        return state, ServicePaused(pause_s, state.paused_why)
    over = _over_cap(asked)
    if over is not None:
        return state, over
    interval_s = 1 / asked.limits.calls_per_s
    full_at = max(state.full_at, asked.now) + interval_s
    wait_s = max(full_at - asked.now - asked.limits.burst * interval_s, 0.0)
    if wait_s > asked.patience_s:
        return state, BucketEmpty(wait_s)
    day = day_of(asked.now)
    reserved = Reservation(asked.service, day, asked.micros, wait_s)
    return msgspec.structs.replace(state, full_at=full_at), reserved


def pause(state: BudgetState, until: float, why: str) -> BudgetState:
    """Return *state* paused *until* then; a longer pause stays."""
    if until <= state.paused_until:
        return state
    return msgspec.structs.replace(state, paused_until=until, paused_why=why)


def _over_cap(asked: ReserveRequest) -> OverCap | None:
    day = day_of(asked.now)
    next_month = (first_of_month(day) + timedelta(days=31)).replace(day=1)
    caps: tuple[tuple[Literal["day", "month"], int | None, int, date], ...] = (
        (
            "month",
            asked.limits.micros_per_month,
            asked.spent_this_month,
            next_month,
        ),
        ("day", asked.limits.micros_per_day, asked.spent_today, day + timedelta(days=1)),
    )
    for name, cap, spent, ends in caps:
        if cap is not None and spent + asked.micros > cap:
            ends_at = datetime(ends.year, ends.month, ends.day, tzinfo=UTC).timestamp()
            return OverCap(name, spent, ends_at - asked.now)
    return None
