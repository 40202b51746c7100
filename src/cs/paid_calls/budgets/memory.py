"""Budgets in memory, for tests: a process that ends forgets them."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import date

from cs.paid_calls.budgets.port import Reservation, ReserveResult, ServiceLimits, Spending
from cs.paid_calls.budgets.rules import (
    BudgetState,
    ReserveRequest,
    day_of,
    decide,
    first_of_month,
    pause,
)


class MemoryBudgets:
    """Args: *now*: seconds since 1970."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._states: dict[str, BudgetState] = {}
        self._accounts: dict[str, dict[date, tuple[int, int]]] = defaultdict(dict)

    async def reserve(
        self,
        service: str,
        limits: ServiceLimits,
        micros: int,
        *,
        patience_s: float = 0.0,
        through_pause: bool = False,
    ) -> ReserveResult:
        now = self._now()
        spent = self._spending(service, now)
        asked = ReserveRequest(
            service=service,
            limits=limits,
            micros=micros,
            now=now,
            spent_today=spent.micros_today,
            spent_this_month=spent.micros_this_month,
            patience_s=patience_s,
            through_pause=through_pause,
        )
        state, result = decide(self._states.get(service, BudgetState()), asked)
        self._states[service] = state
        if isinstance(result, Reservation):
            self._add(service, result.day, 1, micros)
        return result

    async def settle(self, reserved: Reservation, micros: int, *, made: bool = True) -> None:
        calls = 0 if made else -1
        self._add(reserved.service, reserved.day, calls, micros - reserved.micros)

    async def pause(self, service: str, for_s: float, why: str) -> None:
        state = self._states.get(service, BudgetState())
        self._states[service] = pause(state, self._now() + for_s, why)

    async def resume(self, service: str) -> None:
        if service in self._states:
            self._states[service] = BudgetState(self._states[service].full_at)

    async def spending(self) -> Sequence[Spending]:
        now = self._now()
        return [self._spending(service, now) for service in sorted(self._states)]

    def _add(self, service: str, day: date, calls: int, micros: int) -> None:
        had_calls, had_micros = self._accounts[service].get(day, (0, 0))
        self._accounts[service][day] = (had_calls + calls, had_micros + micros)

    def _spending(self, service: str, now: float) -> Spending:
        day = day_of(now)
        account = self._accounts[service]
        month = [spent for at, spent in account.items() if first_of_month(day) <= at <= day]
        calls_today, micros_today = account.get(day, (0, 0))
        state = self._states.get(service, BudgetState())
        paused_s = max(state.paused_until - now, 0.0)
        return Spending(
            service=service,
            calls_today=calls_today,
            micros_today=micros_today,
            calls_this_month=sum(calls for calls, _ in month),
            micros_this_month=sum(micros for _, micros in month),
            paused_s=paused_s,
            paused_why=state.paused_why if paused_s else "",
        )
