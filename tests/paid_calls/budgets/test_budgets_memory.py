import time

import pytest

from contracts.budgets import BudgetsContract
from cs.paid_calls.budgets.memory import MemoryBudgets
from cs.paid_calls.budgets.port import Budgets


class Shifted:
    """The machine's seconds, and what a test adds to them."""

    by_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.by_s


class TestMemoryBudgets(BudgetsContract):
    @pytest.fixture
    def clock(self) -> Shifted:
        return Shifted()

    @pytest.fixture
    def budgets(self, clock: Shifted) -> MemoryBudgets:
        self._clock = clock
        return MemoryBudgets(clock)

    async def later(self, budgets: Budgets, days: int) -> None:
        del budgets
        self._clock.by_s += days * 86_400
