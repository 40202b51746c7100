"""Rolling windows: how many of something there were in the last minute or day.

A sliding log of times, exact at its edges (contract L2); nothing is rounded to the clock.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

from cs.domain.messages import STANDS_STILL

#: Contract text 8: searches of one key.
PER_MINUTE = 6
PER_DAY = 60
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


def opens_after(oldest: datetime, at: datetime) -> datetime | None:
    """Return when a full window of 24 hours opens whose oldest time is *oldest*.

    ``None``: it is open at *at*, as it is when *oldest* is from a clock that was wrong.
    """
    counts = at - DAY < oldest <= at + STANDS_STILL
    return min(oldest, at) + DAY if counts else None


class RateWindow(msgspec.Struct, frozen=True):
    """Remaining part of one limit, as the rate-limit headers have it (contract L4)."""

    limit: int
    remaining: int
    reset: timedelta  # until one leaves and so makes room; the whole span if there is none


def window(
    times: Iterable[datetime], at: datetime, *, limit: int, span: timedelta
) -> RateWindow:
    """Return what is left at *at* of *limit* per rolling *span*.

    A time from the future counts as one of now, unless it is so far ahead that the clock was
    wrong: then its time is unknown, and it does not count.

    Args:
        times: In the order in which they were stored.
        at: Now.
        limit: Times allowed in one span.
        span: A time exactly *span* old has left the window (contract L2: refused after
            86 399 s, admitted after 86 400 s).
    """
    inside = [time for time in times if at - span < time <= at + STANDS_STILL]
    newest = inside[max(0, len(inside) - limit) :]  # with a lowered limit more may be inside
    reset = min(newest, default=at) + span - at
    return RateWindow(limit, max(0, limit - len(inside)), min(reset, span))
