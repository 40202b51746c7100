"""The account of paid services in a database: one row a service, which workers queue for.

Days and the bucket go by the database's clock, so that all workers agree on them.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

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
from cs.runtime.sql import NOW, Database, Work
from cs.sqlite.database import LOCK_TIMEOUT_S
from cs.sqlite.sql import SqliteDatabase


def account_away(error: Exception) -> CallsUnavailable:
    """Return what is raised where the database of an account is away with *error*."""
    return CallsUnavailable(f"the account of paid services: {error}")


class StoredBudgets:
    """The budgets in *database*; see `cs.paid_calls.budgets.port.Budgets`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def in_file(cls, path: Path | None, *, lock_timeout_s: int = LOCK_TIMEOUT_S) -> Self:
        """Return those in a SQLite file, made when something is first reserved.

        Args:
            path: Of the file; its folder is made too.  In memory without one.
            lock_timeout_s: How long to wait for another process's transaction.
        """
        return cls(
            SqliteDatabase(
                path,
                _SQLITE_SCHEMA,
                thread="budgets",
                make_folder=True,
                unavailable=account_away,
                lock_timeout_s=lock_timeout_s,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._database.close()

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        def reserve() -> Work[ReserveResult]:
            state, now = yield from _locked(service)
            day = day_of(now)
            ((today, this_month),) = yield _SPENT, service, first_of_month(day), day
            asked = ReserveRequest(
                service=service,
                limits=limits,
                micros=micros,
                now=now,
                spent_today=today,
                spent_this_month=this_month,
                patience_s=patience_s,
                through_pause=through_pause,
            )
            after, result = decide(state, asked)
            if isinstance(result, Reservation):
                yield _stored(service, after)
                yield _ADD, service, day, 1, micros
            return result

        return await self._database.transact(reserve())

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        change = (0 if made else -1, micros - reserved.micros)
        await self._database.fetch(_ADD, reserved.service, reserved.day, *change)

    async def pause(self, service: str, for_s: float, why: str) -> None:
        def store_pause() -> Work[None]:
            state, now = yield from _locked(service)
            yield _stored(service, pause(state, now + for_s, why))

        await self._database.transact(store_pause())

    async def resume(self, service: str) -> None:
        await self._database.fetch(_RESUME, service)

    async def spending(self) -> Sequence[Spending]:
        found = await self._database.fetch(NOW)
        if not found:
            return []  # nothing was ever reserved
        ((now,),) = found
        day = day_of(now)
        rows = await self._database.fetch(_SPENDING, first_of_month(day), day)
        return [
            Spending(
                service=service,
                calls_today=calls_today,
                micros_today=micros_today,
                calls_this_month=calls,
                micros_this_month=micros,
                paused_s=max(paused_until - now, 0.0),
                paused_why=why if paused_until > now else "",
            )
            for service, paused_until, why, calls_today, micros_today, calls, micros in rows
        ]


def _locked(service: str) -> Work[tuple[BudgetState, float]]:
    """Return what is stored of *service*, ours until the transaction ends, and the time."""
    ((*state, now),) = yield _LOCK, service
    return BudgetState(*state), now


def _stored(service: str, state: BudgetState) -> tuple[object, ...]:
    return _STORE, service, state.full_at, state.paused_until, state.paused_why


_SQLITE_SCHEMA = (
    (
        "CREATE TABLE IF NOT EXISTS services (service TEXT PRIMARY KEY, full_at REAL NOT NULL, "
        "paused_until REAL NOT NULL, paused_why TEXT NOT NULL) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS spending (service TEXT, day TEXT, calls INTEGER NOT NULL, "
        "micros INTEGER NOT NULL, PRIMARY KEY (service, day)) WITHOUT ROWID"
    ),
)
_LOCK = """
INSERT INTO services (service, full_at, paused_until, paused_why) VALUES ($1, 0, 0, '')
ON CONFLICT (service) DO UPDATE SET full_at = services.full_at
RETURNING full_at, paused_until, paused_why, date_part('epoch', clock_timestamp())
"""
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
SELECT CAST(coalesce(sum(micros) FILTER (WHERE day = $3), 0) AS bigint),
       CAST(coalesce(sum(micros), 0) AS bigint)
FROM spending WHERE service = $1 AND day BETWEEN $2 AND $3
"""
_SPENDING = """
SELECT s.service, s.paused_until, s.paused_why,
       CAST(coalesce(sum(p.calls) FILTER (WHERE p.day = $2), 0) AS bigint),
       CAST(coalesce(sum(p.micros) FILTER (WHERE p.day = $2), 0) AS bigint),
       CAST(coalesce(sum(p.calls), 0) AS bigint),
       CAST(coalesce(sum(p.micros), 0) AS bigint)
FROM services s LEFT JOIN spending p ON p.service = s.service AND p.day BETWEEN $1 AND $2
GROUP BY s.service, s.paused_until, s.paused_why ORDER BY s.service
"""
