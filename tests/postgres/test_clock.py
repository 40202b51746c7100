import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest

from cs.admin.sandbox_clock import SandboxClock
from cs.postgres.clock import DatabaseTime, SharedOffset
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool
from cs.runtime.clock import SystemClock


async def test_a_machine_whose_clock_is_off_goes_by_the_database_and_is_not_ready(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    off = timedelta(seconds=90)
    monkeypatch.setattr("cs.postgres.clock._utc_now", lambda: datetime.now(UTC) + off)
    times = DatabaseTime(pool)
    assert times.ready, "nobody was asked yet"

    await times.ask()

    assert abs(times.now() - datetime.now(UTC)) < timedelta(seconds=0.5)
    assert times.skew_s == pytest.approx(90, abs=0.5)
    assert not times.ready


async def test_the_time_goes_on_while_the_database_is_away(pool: Pool) -> None:
    times = DatabaseTime(pool)
    await times.ask()
    before, at = times.now(), time.monotonic()
    pool.terminate()

    with pytest.raises(DatabaseUnavailable):
        await times.ask()

    passed_s = time.monotonic() - at
    assert (times.now() - before).total_seconds() == pytest.approx(passed_s, abs=0.05)
    assert passed_s > 0


async def test_a_role_follows_the_clock_that_another_moved(pool: Pool) -> None:
    real = SystemClock()
    offset = SharedOffset(pool)
    mine = SandboxClock(await offset.load(), offset.keep, real)
    theirs = SandboxClock(await offset.load(), offset.keep, real)
    following = asyncio.create_task(offset.follow(theirs.moved))

    due = real.now() + timedelta(days=31)
    waiting = asyncio.create_task(theirs.sleep_until(due))
    await mine.move_to(due)
    async with asyncio.timeout(5):
        await waiting
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)

    assert theirs.now() >= due
    assert (await offset.load()).days >= 30


async def test_the_offset_never_goes_back(pool: Pool) -> None:
    offset = SharedOffset(pool)
    await offset.keep(timedelta(seconds=60))
    await offset.keep(timedelta(seconds=10))

    assert await offset.load() == timedelta(seconds=60)
