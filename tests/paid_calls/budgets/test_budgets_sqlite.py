import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.budgets import FREE, BudgetsContract, only, reserved
from cs.paid_calls.budgets.port import Budgets, OverCap, Reservation
from cs.paid_calls.budgets.sqlite import SqliteBudgets
from cs.paid_calls.errors import CallsUnavailable


class Shifted:
    by_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.by_s


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "spending.db"


class TestSqliteBudgets(BudgetsContract):
    @pytest.fixture
    async def budgets(self, file: Path) -> AsyncIterator[SqliteBudgets]:
        self._clock = Shifted()
        async with SqliteBudgets(file, now=self._clock) as budgets:
            yield budgets

    async def later(self, budgets: Budgets, days: int) -> None:
        del budgets
        self._clock.by_s += days * 86_400


async def test_what_was_spent_outlives_the_process(file: Path) -> None:
    async with SqliteBudgets(file) as before:
        reserved(await before.reserve("acme", FREE, 70))
        await before.pause("acme", 60, "no-credits")

    async with SqliteBudgets(file) as after:
        spent = await only(after)

    assert (spent.micros_today, spent.paused_why) == (70, "no-credits")


async def test_two_processes_on_one_file_keep_one_cap(file: Path) -> None:
    limits = BudgetsContract.daily
    async with SqliteBudgets(file) as one, SqliteBudgets(file) as two:
        found = await asyncio.gather(
            *((one, two)[n % 2].reserve("acme", limits, 30) for n in range(12))
        )

    assert sum(isinstance(each, Reservation) for each in found) == 3
    assert sum(isinstance(each, OverCap) for each in found) == 9


async def test_nothing_is_made_before_something_is_reserved(file: Path) -> None:
    async with SqliteBudgets(file) as budgets:
        assert await budgets.spending() == []
        await budgets.resume("acme")
        assert not budgets._file.exists


@pytest.fixture
def no_database(file: Path) -> Path:
    file.parent.mkdir()
    file.write_bytes(b"not a database, and long enough to be looked at" * 100)
    return file


async def test_a_file_that_cannot_be_used_lets_nobody_ask(no_database: Path) -> None:
    async with SqliteBudgets(no_database) as budgets:
        with pytest.raises(CallsUnavailable, match="the account of paid services"):
            await budgets.reserve("acme", FREE, 1)


async def test_a_lock_that_another_process_keeps_lets_nobody_ask(file: Path) -> None:
    async with SqliteBudgets(file) as budgets:
        await budgets.reserve("acme", FREE, 1)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    async with SqliteBudgets(file, lock_timeout_s=0) as budgets:
        with pytest.raises(CallsUnavailable, match="locked"):
            await budgets.reserve("acme", FREE, 1)
    other.close()
