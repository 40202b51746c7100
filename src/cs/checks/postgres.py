"""Checks counted in PostgreSQL, for all nodes.

One statement a check, by the database's clock, on a table that is not logged and has a row
for each key (``migrations/service/0002_counters.sql``).  It returns the version of the key's
stream as well, so that a key in memory which has not changed is not read again.  A refusal is
remembered here until the window opens, so that a flood beyond the limit asks the database
nothing.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from cs.checks.checks import CHECKS_PER_MINUTE, KEYS, Check
from cs.domain.rate_limits import MINUTE, RateWindow
from cs.eventlog.port import LogUnavailable
from cs.postgres.pool import Pool
from cs.postgres.sql import PostgresDatabase
from cs.runtime.lru import LruDict


class PostgresChecks:
    """`cs.checks.checks.Checks` on *pool*.

    Args:
        monotonic: Seconds; moves with *ahead*.
        ahead: By how much a sandbox's clock is ahead of the database's.
    """

    def __init__(
        self,
        pool: Pool,
        monotonic: Callable[[], float] = time.monotonic,
        ahead: Callable[[], timedelta] = timedelta,
    ) -> None:
        self._counters = PostgresDatabase(pool, _uncountable)
        self._monotonic = monotonic
        self._ahead = ahead
        self._refusals = LruDict[str, tuple[float, datetime]](KEYS)  # until when, and made at

    async def count(self, key_id: str, at: datetime) -> Check:
        now = self._monotonic()
        until, at = self._refusals.get(key_id, (now, at))
        reset = timedelta(seconds=until - now)
        if reset > timedelta(0):
            return Check(at, False, RateWindow(CHECKS_PER_MINUTE, 0, reset))
        # The database's clock is shared by all.
        ((at, counted, oldest, inside, version),) = await self._counters.fetch(
            _COUNT, key_id, CHECKS_PER_MINUTE, MINUTE, self._ahead()
        )
        reset = min(oldest + MINUTE - at, MINUTE)
        if not counted:
            self._refusals[key_id] = (now + reset.total_seconds(), at)
        left = RateWindow(CHECKS_PER_MINUTE, CHECKS_PER_MINUTE - inside, reset)
        return Check(at, counted, left, version)

    async def uncount(self, key_id: str, at: datetime) -> None:
        self._refusals.pop(key_id, None)
        await self._counters.fetch(_UNCOUNT, key_id, at)


def _uncountable(error: Exception) -> LogUnavailable:
    return LogUnavailable(f"checks cannot be counted: {error}")


# The row's lock puts the checks of a key in order; the subqueries read the row and the clock
# after it was taken.  A time that is far ahead is of a clock that was wrong
# (`cs.domain.messages.STANDS_STILL`), and does not count.
_COUNT = """
INSERT INTO checks AS c (key_id, times, at, taken)
SELECT $1, ARRAY[now.at], now.at, true
FROM (SELECT clock_timestamp() + $4::interval AS at) AS now
ON CONFLICT (key_id) DO UPDATE SET (times, at, taken) = (
    SELECT
        CASE WHEN cardinality(inside) < $2 THEN inside || at ELSE inside END,
        at,
        cardinality(inside) < $2
    FROM (
        SELECT at, ARRAY(
            SELECT t FROM unnest(c.times) AS t
            WHERE t > at - $3::interval AND t <= at + interval '1 minute' ORDER BY t
        ) AS inside
        FROM (SELECT clock_timestamp() + $4::interval AS at OFFSET 0) AS now
        OFFSET 0
    ) AS w
)
RETURNING at, taken, times[1], cardinality(times), (
    SELECT max(originator_version) FROM stored_events WHERE originator_id = 'key-' || $1
)
"""
_UNCOUNT = "UPDATE checks SET times = array_remove(times, $2) WHERE key_id = $1"
