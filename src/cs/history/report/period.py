"""The period of a report, and the buckets that what happened in it is drawn by."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import msgspec

#: At most so many buckets are drawn.
BUCKETS = 100
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)
_STEPS = (_HOUR, _DAY, 7 * _DAY, 28 * _DAY)
#: A Monday: where weeks begin.
_MONDAY = datetime(1970, 1, 5, tzinfo=UTC)


class Period(msgspec.Struct, frozen=True):
    """From *since* on, until before *until*; both UTC."""

    since: datetime
    until: datetime

    def __contains__(self, at: datetime) -> bool:
        return self.since <= at < self.until

    @property
    def step(self) -> timedelta:
        """How long its buckets are: an hour, a day, a week, or as many days as it takes."""
        for step in _STEPS:
            if self._count(step) <= BUCKETS:
                return step
        days = -(-(self.until - self.since) // (BUCKETS - 1) // _DAY)
        return max(days, 1) * _DAY

    def buckets(self) -> Sequence[datetime]:
        """Return when each bucket begins, in order; the first holds `since`."""
        step = self.step
        first = floor(self.since, step)
        return [first + n * step for n in range(self._count(step))]

    def _count(self, step: timedelta) -> int:
        return max(-((floor(self.since, step) - self.until) // step), 1)


def floor(at: datetime, step: timedelta) -> datetime:
    """Return when the bucket of *at* begins, if buckets are *step* long.

    >>> floor(datetime(2026, 3, 4, 5, 6, tzinfo=UTC), timedelta(days=7)).isoformat()
    '2026-03-02T00:00:00+00:00'
    """
    return at - (at - _MONDAY) % step
