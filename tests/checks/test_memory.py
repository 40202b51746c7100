"""Checks counted in memory keep the contract."""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.checks import ChecksContract
from cs.checks.checks import CHECKS_PER_MINUTE, MemoryChecks

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
