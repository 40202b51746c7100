"""Budgets in a SQLite file of the data folder: a service in one process, and its commands."""

import time
from collections.abc import Callable, Sequence
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
from cs.sqlite.database import LOCK_TIMEOUT_S, transaction
from cs.sqlite.file_on_demand import FileOnDemand


class SqliteBudgets:
    """Use as ``async with``.  The file is made when something is first reserved.

    Args:
        path: Of the file.
        now: Seconds since 1970.
        lock_timeout_s: How long to wait for another process's transaction.
    """

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], float] = time.time,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
    ) -> None:
        self._now = now
        self._file = FileOnDemand(
            path,
            _SCHEMA,
            thread="budgets",
            make_folder=True,
            unavailable=lambda error: CallsUnavailable(
                f"the account of paid services: {error}"
            ),
            lock_timeout_s=lock_timeout_s,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._file.close()

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        return await self._file.run(
            self._reserve, service, limits, micros, patience_s, through_pause
        )

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        calls = 0 if made else -1
        await self._file.run(self._add, reserved, calls, micros - reserved.micros)

    async def pause(self, service: str, for_s: float, why: str) -> None:
        await self._file.run(self._pause, service, for_s, why)

    async def resume(self, service: str) -> None:
        await self._file.run(self._resume, service)

    async def spending(self) -> Sequence[Spending]:
        return await self._file.run(self._spending)

    # What runs in the thread.

    def _reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        patience_s: float,
        through_pause: bool,
    ) -> ReserveResult:
        with transaction(self._file.db):
            now = self._now()
            day = day_of(now)
            _, today, _, this_month = self._spent(service, now)
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
            state, result = decide(self._state(service), asked)
            self._store(service, state)
            if isinstance(result, Reservation):
                self._file.db.execute(_ADD, (service, day.isoformat(), 1, micros))
        return result

    def _add(self, reserved: Reservation, calls: int, micros: int) -> None:
        self._file.db.execute(_ADD, (reserved.service, reserved.day.isoformat(), calls, micros))

    def _pause(self, service: str, for_s: float, why: str) -> None:
        with transaction(self._file.db):
            self._store(service, pause(self._state(service), self._now() + for_s, why))

    def _resume(self, service: str) -> None:
        if self._file.exists:
            self._file.db.execute(_RESUME, (service,))

    def _spending(self) -> list[Spending]:
        if not self._file.exists:
            return []
        now = self._now()
        return [
            self._spending_of(service, BudgetState(*state), now)
            for service, *state in self._file.db.execute(_STATES).fetchall()
        ]

    def _spending_of(self, service: str, state: BudgetState, now: float) -> Spending:
        calls_today, micros_today, calls, micros = self._spent(service, now)
        paused_s = max(state.paused_until - now, 0.0)
        return Spending(
            service=service,
            calls_today=calls_today,
            micros_today=micros_today,
            calls_this_month=calls,
            micros_this_month=micros,
            paused_s=paused_s,
            paused_why=state.paused_why if paused_s else "",
        )

    def _spent(self, service: str, now: float) -> tuple[int, int, int, int]:
        """Return calls and micros of today, and of this month."""
        day = day_of(now)
        values = {
            "service": service,
            "day": day.isoformat(),
            "first": first_of_month(day).isoformat(),
        }
        found: tuple[int, int, int, int] = self._file.db.execute(_SPENT, values).fetchone()
        return found

    def _state(self, service: str) -> BudgetState:
        found = self._file.db.execute(_STATE, (service,)).fetchone()
        return BudgetState(*found) if found else BudgetState()

    def _store(self, service: str, state: BudgetState) -> None:
        values = (service, state.full_at, state.paused_until, state.paused_why)
        self._file.db.execute(_STORE, values)


_SCHEMA = (
    (
        "CREATE TABLE IF NOT EXISTS services (service TEXT PRIMARY KEY, full_at REAL NOT NULL, "
        "paused_until REAL NOT NULL, paused_why TEXT NOT NULL) WITHOUT ROWID"
    ),
    (
        "CREATE TABLE IF NOT EXISTS spending (service TEXT, day TEXT, calls INTEGER NOT NULL, "
        "micros INTEGER NOT NULL, PRIMARY KEY (service, day)) WITHOUT ROWID"
    ),
)
_STATES = "SELECT service, full_at, paused_until, paused_why FROM services ORDER BY service"
_STATE = "SELECT full_at, paused_until, paused_why FROM services WHERE service = ?"
_STORE = "INSERT OR REPLACE INTO services VALUES (?, ?, ?, ?)"
_RESUME = "UPDATE services SET paused_until = 0, paused_why = '' WHERE service = ?"
_ADD = (
    "INSERT INTO spending (service, day, calls, micros) VALUES (?, ?, ?, ?) ON CONFLICT DO "
    "UPDATE SET calls = calls + excluded.calls, micros = micros + excluded.micros"
)
_SPENT = (
    "SELECT ifnull(sum(calls) FILTER (WHERE day = :day), 0), "
    "ifnull(sum(micros) FILTER (WHERE day = :day), 0), "
    "ifnull(sum(calls), 0), ifnull(sum(micros), 0) "
    "FROM spending WHERE service = :service AND day BETWEEN :first AND :day"
)
