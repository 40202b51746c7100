"""Heartbeats in a table that every recorder writes and the driver reads."""

import time

import asyncpg
from structlog import get_logger

from cs.domain.stages.work import StageName
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, translate_errors

log = get_logger()

#: Heartbeats older than this are thrown away: no lookup lasts so long.
KEPT_S = 600
SWEEP_EVERY_S = 60.0
#: The database is away, or does not take the row: the heartbeat counts as lost.
LOST = (DatabaseUnavailable, asyncpg.PostgresError, asyncpg.InterfaceError)


class PostgresHeartbeats:
    """Heartbeats of a whole deployment; silence is measured by the database's clock."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._swept_at = time.monotonic()

    async def record(self, lookup: str, stage: StageName, item: str, attempt: int) -> None:
        try:
            with translate_errors():
                await self._pool.execute(_RECORD, lookup, stage, item, attempt)
                if time.monotonic() - self._swept_at > SWEEP_EVERY_S:
                    self._swept_at = time.monotonic()
                    await self._pool.execute(_SWEEP, KEPT_S)
        except LOST as error:
            log.warning("sign_of_life_lost", lookup=lookup, stage=stage, why=str(error))

    async def silent_for(
        self, lookup: str, stage: StageName, item: str, attempt: int
    ) -> float | None:
        try:
            with translate_errors():
                seconds: float | None = await self._pool.fetchval(
                    _SILENT, lookup, stage, item, attempt
                )
        except LOST as error:
            log.warning("sign_of_life_not_read", lookup=lookup, stage=stage, why=str(error))
            return None
        return seconds


_RECORD = """
INSERT INTO signs_of_life (lookup, stage, item, attempt, heard_at)
VALUES ($1, $2, $3, $4, clock_timestamp())
ON CONFLICT (lookup, stage, item) DO UPDATE
SET attempt = excluded.attempt, heard_at = excluded.heard_at
WHERE signs_of_life.attempt <= excluded.attempt
"""
_SILENT = """
SELECT extract(epoch FROM clock_timestamp() - heard_at)::float8 FROM signs_of_life
WHERE lookup = $1 AND stage = $2 AND item = $3 AND attempt = $4
"""
_SWEEP = (
    "DELETE FROM signs_of_life WHERE heard_at < clock_timestamp() - $1 * interval '1 second'"
)
