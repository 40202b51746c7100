"""Budgets in the stages' own PostgreSQL database: one row a service, which workers queue for.

Days and the bucket go by the database's clock, so that all workers agree on them.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from asyncpg import UndefinedTableError

from cs.paid_calls.budgets.port import Reservation, ReserveResult, ServiceLimits, Spending
from cs.paid_calls.budgets.rules import (
    BudgetState,
    ReserveRequest,
    day_of,
    decide,
    first_of_month,
    pause,
)
from cs.paid_calls.errors import CallsUnavailable
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, PooledConnection, connected


class PostgresBudgets:
    """Args: *pool*: to the stages' database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        async with self._locked(service) as (connection, state):
            now = await connection.fetchval(_NOW)
            day = day_of(now)
            spent = await connection.fetchrow(_SPENT, service, first_of_month(day), day)
            assert spent is not None
            asked = ReserveRequest(
                service=service,
                limits=limits,
                micros=micros,
                now=now,
                spent_today=spent["micros_today"],
                spent_this_month=spent["micros"],
                patience_s=patience_s,
                through_pause=through_pause,
            )
            after, result = decide(state, asked)
            if isinstance(result, Reservation):
                await _store(connection, service, after)
                await connection.execute(_ADD, service, day, 1, micros)
        return result

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        change = (0 if made else -1, micros - reserved.micros)
        async with self._connected() as connection:
            await connection.execute(_ADD, reserved.service, reserved.day, *change)

    async def pause(self, service: str, for_s: float, why: str) -> None:
        async with self._locked(service) as (connection, state):
            now = await connection.fetchval(_NOW)
            await _store(connection, service, pause(state, now + for_s, why))

    async def resume(self, service: str) -> None:
        async with self._connected() as connection:
            await connection.execute(_RESUME, service)

    async def spending(self) -> Sequence[Spending]:
        async with self._connected() as connection:
            now = await connection.fetchval(_NOW)
            day = day_of(now)
            rows = await connection.fetch(_SPENDING, first_of_month(day), day, now)
        return [Spending(**row) for row in rows]

    @asynccontextmanager
    async def _locked(
        self, service: str
    ) -> AsyncIterator[tuple[PooledConnection, BudgetState]]:
        """Yield a transaction and what is stored of *service*, which is ours until its end."""
        async with self._connected() as connection, connection.transaction():
            row = await connection.fetchrow(_LOCK, service)
            if row is None:
                await connection.execute(_MAKE, service)
                row = await connection.fetchrow(_LOCK, service)
                assert row is not None
            yield connection, BudgetState(*row)

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[PooledConnection]:
        try:
            async with connected(self._pool) as connection:
                yield connection
        except (DatabaseUnavailable, UndefinedTableError) as error:
            raise CallsUnavailable(f"the account of paid services: {error}") from error


async def _store(connection: PooledConnection, service: str, state: BudgetState) -> None:
    values = (state.full_at, state.paused_until, state.paused_why)
    await connection.execute(_STORE, service, *values)


_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
_LOCK = """
SELECT full_at, paused_until, paused_why FROM services WHERE service = $1 FOR UPDATE
"""
_MAKE = "INSERT INTO services (service) VALUES ($1) ON CONFLICT DO NOTHING"
_STORE = """
UPDATE services SET full_at = $2, paused_until = $3, paused_why = $4 WHERE service = $1
"""
_RESUME = "UPDATE services SET paused_until = 0, paused_why = '' WHERE service = $1"
_ADD = """
INSERT INTO spending (service, day, calls, micros) VALUES ($1, $2, $3, $4)
ON CONFLICT (service, day) DO UPDATE
SET calls = spending.calls + excluded.calls, micros = spending.micros + excluded.micros
"""
_SPENT = """
SELECT coalesce(sum(micros) FILTER (WHERE day = $3), 0)::bigint AS micros_today,
       coalesce(sum(micros), 0)::bigint AS micros
FROM spending WHERE service = $1 AND day BETWEEN $2 AND $3
"""
_SPENDING = """
SELECT s.service,
       coalesce(sum(p.calls) FILTER (WHERE p.day = $2), 0)::bigint AS calls_today,
       coalesce(sum(p.micros) FILTER (WHERE p.day = $2), 0)::bigint AS micros_today,
       coalesce(sum(p.calls), 0)::bigint AS calls_this_month,
       coalesce(sum(p.micros), 0)::bigint AS micros_this_month,
       greatest(s.paused_until - $3::float8, 0) AS paused_s,
       CASE WHEN s.paused_until > $3::float8 THEN s.paused_why ELSE '' END AS paused_why
FROM services s LEFT JOIN spending p ON p.service = s.service AND p.day BETWEEN $1 AND $2
GROUP BY s.service ORDER BY s.service
"""
