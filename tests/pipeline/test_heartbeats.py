"""Signs of life in memory."""

from datetime import UTC, datetime, timedelta

import pytest

from contracts.signs import SignsContract
from cs.pipeline.heartbeats import SILENCE_S, MemorySigns, Signs
from cs.runtime.clock import HandClock

AT = datetime(2026, 1, 1, tzinfo=UTC)


class TestMemorySigns(SignsContract):
    @pytest.fixture
    def signs(self) -> Signs:
        return MemorySigns(HandClock(AT).monotonic)


async def test_silence_is_counted_from_the_last_sign() -> None:
    clock = HandClock(AT)
    signs = MemorySigns(clock.monotonic)
    for _ in range(3):
        await signs.heard("brand-a.1", "ranking", "", 1)
        clock.set(clock.now() + timedelta(seconds=7))

    assert await signs.silent_for("brand-a.1", "ranking", "", 1) == 7


async def test_a_sign_older_than_silence_is_forgotten_with_the_next() -> None:
    clock = HandClock(AT)
    signs = MemorySigns(clock.monotonic)
    await signs.heard("brand-old.1", "ranking", "", 1)
    clock.set(clock.now() + timedelta(seconds=SILENCE_S + 1))
    await signs.heard("brand-new.1", "ranking", "", 1)

    assert await signs.silent_for("brand-old.1", "ranking", "", 1) is None
    assert await signs.silent_for("brand-new.1", "ranking", "", 1) == 0
