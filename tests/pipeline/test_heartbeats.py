"""Heartbeats in memory."""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.heartbeats import HeartbeatsContract
from cs.pipeline.heartbeats import SILENCE_S, Heartbeats, MemoryHeartbeats
from harness.manual_clock import ManualClock

AT = datetime(2026, 1, 1, tzinfo=UTC)


class TestMemoryHeartbeats(HeartbeatsContract):
    @pytest.fixture
    def heartbeats(self) -> Heartbeats:
        return MemoryHeartbeats(ManualClock(AT).monotonic)


async def test_a_sign_older_than_silence_is_forgotten_with_the_next() -> None:
    clock = ManualClock(AT)
    heartbeats = MemoryHeartbeats(clock.monotonic)
    await heartbeats.record("brand-old.1", "ranking", "", 1)
    clock.set(clock.now() + timedelta(seconds=SILENCE_S + 1))
    await heartbeats.record("brand-new.1", "ranking", "", 1)

    assert await heartbeats.silent_for("brand-old.1", "ranking", "", 1) is None
    assert await heartbeats.silent_for("brand-new.1", "ranking", "", 1) == 0
