"""Rolling windows: how many of something there were in the last minute or day.

A sliding log of times, exact at its edges (contract L2); nothing is rounded to the clock.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec

#: Contract text 8: searches of one key.
PER_MINUTE = 6
PER_DAY = 60
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)


class RateWindow(msgspec.Struct, frozen=True):
    """What is left of one limit, as the rate-limit headers have it (contract L4)."""

    limit: int
    remaining: int
    reset: timedelta  # until the oldest counted one leaves; the whole span if there is none


def window(
    times: Iterable[datetime], at: datetime, *, limit: int, span: timedelta
) -> RateWindow:
    """Return what is left at *at* of *limit* per rolling *span*.

    Args:
        times: Oldest first.
        at: Now, not before the last of *times*.
        limit: Times allowed in one span.
        span: A time exactly *span* old has left the window (contract L2: refused after
            86 399 s, admitted after 86 400 s).
    """
    inside = [time for time in times if time > at - span]
    reset = inside[0] + span - at if inside else span
    return RateWindow(limit, max(0, limit - len(inside)), reset)
