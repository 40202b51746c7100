"""How spending on paid services goes on: a pure rule, and the account that it reads.

The rows of the account are one a day and service (`cs.paid_calls.budgets`); reserves of calls
under way count as spent there, and so here.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from math import inf
from typing import Literal

import msgspec

from cs.domain.source_cost import MICROS
from cs.paid_calls.budgets import Budgets, SpentOfDay, TotalCaps, midnight, period_ends

#: Days, today included, whose mean is the pace: each day of a week once.
PACE_DAYS = 7
_DAY = timedelta(days=1)


class Forecast(msgspec.Struct, frozen=True, kw_only=True):
    """Spending on all services together by UTC, and what it comes to, in US dollars.

    Attributes:
        at: The time of the account.
        usd_today: Spent today; this month follows.
        usd_a_day: The pace: the mean of the last seven days up to now, or of the time since
            the first day with a call if that is less, at least a day.
        usd_at_month_end: What this month comes to at that pace.
        usd_per_day: The cap of a day, ``None`` for none; that of a month follows.
        cap_reached: Which of both is reached first at that pace, today, tomorrow or this
            month; ``None``: neither is.
        cap_reached_at: When; `at` if it is reached: what is left pays for no call of the
            service that was the dearest of the last seven days.
    """

    at: datetime
    usd_today: float
    usd_this_month: float
    usd_a_day: float
    usd_at_month_end: float
    usd_per_day: float | None
    usd_per_month: float | None
    cap_reached: Literal["day", "month"] | None = None
    cap_reached_at: datetime | None = None


async def read_forecast(budgets: Budgets) -> Forecast | None:
    """Return how spending goes on by the account; ``None`` if nothing was reserved lately.

    That is this month and the last seven days.

    Raises:
        CallsUnavailable: The account cannot be read.
    """
    now, days = await budgets.by_day(PACE_DAYS)
    return forecast(now, days, budgets.caps) if days else None


def forecast(now: float, days: Mapping[date, SpentOfDay], caps: TotalCaps) -> Forecast:
    """Return how spending goes on.

    Args:
        now: Seconds since 1970.
        days: Spent on all services by day: of this month and of the last `PACE_DAYS`.
        caps: Of all services together.

    >>> last, first = SpentOfDay(6_000_000), SpentOfDay(1_000_000)
    >>> spent = {date(2026, 4, 30): last, date(2026, 5, 1): first}
    >>> noon = datetime(2026, 5, 1, 12, tzinfo=UTC).timestamp()
    >>> found = forecast(noon, spent, TotalCaps(micros_per_month=50_000_000))
    >>> found.usd_this_month, round(found.usd_a_day, 2), round(found.usd_at_month_end, 2)
    (1.0, 4.67, 143.33)
    >>> found.cap_reached, str(found.cap_reached_at)
    ('month', '2026-05-12 00:00:00+00:00')
    """
    at = datetime.fromtimestamp(now, UTC)
    today = at.date()
    tomorrow, next_month = period_ends(now)
    since = max(min(days, default=today), today - timedelta(days=PACE_DAYS - 1))
    lately = [spent for day, spent in days.items() if day >= since]
    pace = sum(spent.micros for spent in lately) / max((at - midnight(since)) / _DAY, 1.0)
    least = max((spent.most for spent in lately), default=0)
    of_today = days[today].micros if today in days else 0
    of_month = sum(spent.micros for day, spent in days.items() if day >= today.replace(day=1))
    reached: list[tuple[datetime, Literal["day", "month"]]] = []
    if (cap := caps.micros_per_month) is not None:
        when = _reached_at(cap - of_month, least, pace, at, next_month)
        reached += [] if when is None else [(when, "month")]
    if (cap := caps.micros_per_day) is not None:
        when = _reached_at(cap - of_today, least, pace, at, tomorrow)
        when = when or _reached_at(cap, least, pace, tomorrow, tomorrow + _DAY)
        reached += [] if when is None else [(when, "day")]
    cap_reached_at, cap_reached = min(reached, default=(None, None))
    return Forecast(
        at=at,
        usd_today=of_today / MICROS,
        usd_this_month=of_month / MICROS,
        usd_a_day=pace / MICROS,
        usd_at_month_end=(of_month + pace * ((next_month - at) / _DAY)) / MICROS,
        usd_per_day=_usd(caps.micros_per_day),
        usd_per_month=_usd(caps.micros_per_month),
        cap_reached=cap_reached,
        cap_reached_at=cap_reached_at,
    )


def _reached_at(
    left: int, least: int, pace: float, start: datetime, end: datetime
) -> datetime | None:
    """Return when *left* micros are spent from *start* on at *pace* a day, if before *end*.

    At once if they are fewer than *least*.
    """
    days = 0.0 if left < max(least, 1) else left / pace if pace > 0 else inf
    return start + days * _DAY if days < (end - start) / _DAY else None


def _usd(micros: int | None) -> float | None:
    return None if micros is None else micros / MICROS
