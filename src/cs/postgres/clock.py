"""The database's time, which every role goes by, and the row a sandbox's clock follows."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from structlog import get_logger

from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.listening import notifications
from cs.postgres.pool import Pool, translate_errors

log = get_logger()

#: How often the database's time is asked for.
EVERY_S = 5.0
#: Of so many questions the quickest counts: half of its way is the error.
QUESTIONS = 3
#: A machine whose clock is further off is not ready (its time-outs and logs mislead).
MOST_SKEW_S = 1.0
CHANNEL = "cs_clock"


def _utc_now() -> datetime:
    return datetime.now(UTC)


class DatabaseTime:
    """The time of the database, between two questions by `time.monotonic`.

    Right to within half of the quickest way there and back.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._read = _utc_now()
        self._read_at = time.monotonic()
        self.skew_s = 0.0  # this machine's clock ahead of the database's

    def now(self) -> datetime:
        return self._read + timedelta(seconds=time.monotonic() - self._read_at)

    @property
    def ready(self) -> bool:
        """Whether this machine's clock is near enough to the database's."""
        return abs(self.skew_s) <= MOST_SKEW_S

    async def ask(self) -> None:
        """Ask the database.

        Raises:
            DatabaseUnavailable: It is away; the time goes on from what it said last.
        """
        best: tuple[float, datetime, float] | None = None
        with translate_errors():
            async with self._pool.acquire() as connection:
                for _ in range(QUESTIONS):
                    before = time.monotonic()
                    answer = await connection.fetchval("SELECT clock_timestamp()")
                    way = time.monotonic() - before
                    if best is None or way < best[0]:
                        best = way, answer, before + way / 2
        assert best is not None
        _, self._read, self._read_at = best
        self.skew_s = (_utc_now() - self.now()).total_seconds()

    async def run(self) -> None:
        """Ask from time to time, for ever."""
        while True:
            await asyncio.sleep(EVERY_S)
            try:
                await self.ask()
            except DatabaseUnavailable as error:
                log.warning("database_time_not_asked", why=str(error))
            else:
                if not self.ready:
                    log.error("clock_off", seconds=round(self.skew_s, 3))


class SharedOffset:
    """By how far a sandbox's clock was moved: one row for all its roles."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def load(self) -> timedelta:
        """Return how far it was moved; raises `DatabaseUnavailable`."""
        with translate_errors():
            seconds = await self._pool.fetchval("SELECT max(ahead_s) FROM sandbox_clock")
        return timedelta(seconds=seconds or 0.0)

    async def keep(self, ahead: timedelta) -> None:
        """Move the row ahead and notify all listeners; it never goes back.

        Raises:
            DatabaseUnavailable: It may not be kept.
        """
        with translate_errors():
            await self._pool.execute(_KEEP, ahead.total_seconds())

    async def follow(self, moved: Callable[[timedelta], None]) -> None:
        """Call *moved* with every new offset, for ever."""
        async for _ in notifications(self._pool, CHANNEL):
            try:
                moved(await self.load())
            except DatabaseUnavailable as error:
                log.warning("sandbox_clock_not_followed", why=str(error))


_KEEP = """
WITH kept AS (
    INSERT INTO sandbox_clock (ahead_s) VALUES ($1)
    ON CONFLICT (one) DO UPDATE SET ahead_s = GREATEST(sandbox_clock.ahead_s, excluded.ahead_s)
    RETURNING ahead_s
)
SELECT pg_notify('cs_clock', ahead_s::text) FROM kept
"""
