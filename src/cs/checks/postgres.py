"""Checks counted in PostgreSQL, for all nodes.

One statement a check, by the database's clock, on a table that is not logged
(``migrations/service/0002_counters.sql``).  A refusal is remembered here until the window
opens, so that a flood beyond the limit asks the database nothing.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from cs.checks.port import CHECKS_PER_MINUTE, KEYS, Check
from cs.domain.rate_limits import MINUTE, RateWindow
from cs.eventlog.errors import LogUnavailable
from cs.postgres.pool import Pool, translate_errors
from cs.postgres.pruning import PAGE
from cs.postgres.sql import PostgresDatabase
from cs.runtime.lru import LruDict

#: A key that made no check for so long has none in its window, also by a clock a little off.
IDLE = timedelta(minutes=10)


class PostgresChecks:
    """`cs.checks.port.Checks` on *pool*.

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
        self._pool = pool
        self._counters = PostgresDatabase(pool, _uncountable)
        self._monotonic = monotonic
        self._ahead = ahead
        self._refusals = LruDict[str, tuple[float, Check]](KEYS)
        self._pruned_up_to = ""

    async def count(self, key_id: str, at: datetime) -> Check:
        del at  # the database's clock is shared by all
        asked = self._monotonic()
        refusal = self._refusal(key_id, asked)
        if refusal is not None:
            return refusal
        (row,) = await self._counters.fetch(
            _COUNT, key_id, CHECKS_PER_MINUTE, MINUTE, self._ahead()
        )
        reset = row["oldest"] + MINUTE - row["at"]
        left = RateWindow(CHECKS_PER_MINUTE, CHECKS_PER_MINUTE - row["inside"], reset)
        check = Check(row["at"], row["taken"], left)
        if not check.counted:
            self._refusals[key_id] = (asked, check)
        return check

    async def uncount(self, key_id: str, at: datetime) -> None:
        self._refusals.pop(key_id, None)
        await self._counters.fetch(_UNCOUNT, key_id, at)

    async def prune(self) -> bool:
        """Remove rows of a page of keys that made no check for `IDLE`; return whether to go on.

        Raises:
            DatabaseUnavailable: Next time.
        """
        with translate_errors():
            row = await self._pool.fetchrow(
                _PRUNE, self._pruned_up_to, PAGE, IDLE, self._ahead()
            )
        assert row is not None, "the statement counts"
        more: bool = row["seen"] == PAGE
        self._pruned_up_to = row["last"] if more else ""
        return more

    def _refusal(self, key_id: str, now: float) -> Check | None:
        """Return the refusal that still holds, with the time that is left of it."""
        if key_id not in self._refusals:
            return None
        asked, check = self._refusals[key_id]
        reset = check.window.reset - timedelta(seconds=now - asked)
        if reset <= timedelta(0):
            del self._refusals[key_id]
            return None
        return Check(check.at, False, RateWindow(CHECKS_PER_MINUTE, 0, reset))


def _uncountable(error: Exception) -> LogUnavailable:
    return LogUnavailable(f"checks cannot be counted: {error}")


# The row's lock puts the checks of a key in order; the subquery reads the row and the clock
# after it was taken.  A clock that steps back stands still here, so that all times differ; one
# that steps back by more than a minute (`cs.domain.messages`) finds the window empty.
_COUNT = """
INSERT INTO checks AS c (key_id, times, at, taken)
SELECT $1, ARRAY[now.at], now.at, true
FROM (SELECT clock_timestamp() + $4::interval AS at) AS now
ON CONFLICT (key_id) DO UPDATE SET (times, at, taken) = (
    SELECT
        CASE WHEN cardinality(w.inside) < $2 THEN w.inside || w.at ELSE w.inside END,
        w.at,
        cardinality(w.inside) < $2
    FROM (
        SELECT
            n.at,
            ARRAY(
                SELECT t FROM unnest(c.times) AS t
                WHERE t > n.at - $3::interval AND t <= n.at ORDER BY t
            ) AS inside
        FROM (
            SELECT CASE
                WHEN c.at > now.at + interval '1 minute' THEN now.at
                ELSE GREATEST(now.at, c.at + interval '1 microsecond')
            END AS at
            FROM (SELECT clock_timestamp() + $4::interval AS at OFFSET 0) AS now
            OFFSET 0
        ) AS n
        OFFSET 0
    ) AS w
)
RETURNING at, taken, times[1] AS oldest, cardinality(times) AS inside
"""
# By the primary key, since an index on the time would be written with every check.  A row
# that is in use just now is left alone, and one that was written meanwhile is not old.
_PRUNE = """
WITH page AS (
    SELECT key_id, at FROM checks WHERE key_id > $1 ORDER BY key_id LIMIT $2
), idle AS (
    SELECT key_id FROM checks
    WHERE key_id IN (SELECT key_id FROM page)
        AND at < clock_timestamp() + $4::interval - $3::interval
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM checks USING idle WHERE checks.key_id = idle.key_id
)
SELECT count(*) AS seen, max(key_id) AS last FROM page
"""
_UNCOUNT = "UPDATE checks SET times = array_remove(times, $2) WHERE key_id = $1"
