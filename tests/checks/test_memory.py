"""Checks counted in memory keep the contract."""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.checks import ChecksContract
from cs.checks.memory import MemoryChecks
from cs.checks.port import CHECKS_PER_MINUTE

AT = datetime(2026, 1, 1, tzinfo=UTC)


class InMemory:
    def __init__(self) -> None:
        self.checks = MemoryChecks()
        self._now = AT

    def now(self) -> datetime:
        return self._now

    async def go_by(self, time: timedelta) -> None:
        self._now += time


class TestMemoryChecks(ChecksContract):
    @pytest.fixture
    def counting(self) -> InMemory:
        return InMemory()

    async def test_a_check_of_exactly_a_minute_ago_has_left(self) -> None:
        checks = MemoryChecks()
        for _ in range(CHECKS_PER_MINUTE):
            await checks.count("one", AT)

        just_before = AT + timedelta(seconds=60) - timedelta(microseconds=1)
        assert not (await checks.count("one", just_before)).counted
        assert (await checks.count("one", AT + timedelta(seconds=60))).counted


async def test_a_clock_that_steps_back_a_little_stands_still_for_the_checks() -> None:
    checks = MemoryChecks()
    await checks.count("one", AT + timedelta(seconds=50))

    earlier = await checks.count("one", AT)
    a_minute_after = await checks.count("one", AT + timedelta(seconds=110))

    assert earlier.at == AT + timedelta(seconds=50)
    assert (earlier.window.remaining, a_minute_after.window.remaining) == (118, 119)
