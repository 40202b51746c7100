"""The sandbox's clock: it ticks, jumps, wakes its sleepers and remembers how far it is."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cs.admin.sandbox_clock import MOST, SandboxClock
from cs.runtime.clock import ManualClock, SystemClock
from cs.runtime.data_folder import DataFolderError

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clock"


async def test_it_jumps_and_goes_on_ticking(file: Path) -> None:
    real = ManualClock(AT)
    clock = SandboxClock.on_file(file, real)
    await clock.move_to(AT + HOUR)
    real.set(AT + timedelta(seconds=3))

    assert clock.now() == AT + HOUR + timedelta(seconds=3)
    assert clock.monotonic() == 3603.0


async def test_it_never_jumps_back(file: Path) -> None:
    clock = SandboxClock.on_file(file, ManualClock(AT))
    await clock.move_to(AT + HOUR)
    await clock.move_to(AT)

    assert clock.now() == AT + HOUR


async def test_a_new_one_on_the_same_file_is_as_far_ahead(file: Path) -> None:
    await SandboxClock.on_file(file, ManualClock(AT)).move_to(AT + timedelta(seconds=1.5))

    assert SandboxClock.on_file(file, ManualClock(AT)).now() == AT + timedelta(seconds=1.5)
    assert [each.name for each in file.parent.iterdir()] == ["clock"]


def test_a_clock_that_was_not_moved_makes_no_file(file: Path) -> None:
    clock = SandboxClock.on_file(file, ManualClock(AT))

    assert clock.now() == AT
    assert not file.exists()


async def test_nothing_moves_if_it_cannot_be_kept(tmp_path: Path) -> None:
    clock = SandboxClock.on_file(tmp_path / "missing" / "clock", ManualClock(AT))
    with pytest.raises(OSError, match="clock"):
        await clock.move_to(AT + HOUR)

    assert clock.now() == AT


async def test_it_moves_ten_years_at_most(file: Path) -> None:
    clock = SandboxClock.on_file(file, ManualClock(AT))
    with pytest.raises(ValueError, match="3660 days"):
        await clock.move_to(AT + MOST + HOUR)
    await clock.move_to(clock.furthest())

    assert clock.now() == AT + MOST


@pytest.mark.parametrize(
    "text", ["", "an hour", "-1", "nan", "inf", "1e300", "316224001", "\x00"]
)
def test_a_damaged_file_is_refused(file: Path, text: str) -> None:
    file.write_text(text)

    with pytest.raises(DataFolderError, match="delete it"):
        SandboxClock.on_file(file)


async def test_who_sleeps_until_then_wakes_and_others_sleep_on(file: Path) -> None:
    clock = SandboxClock.on_file(file, SystemClock())
    early = asyncio.create_task(clock.sleep(3600))
    late = asyncio.create_task(clock.sleep(7200))
    await asyncio.wait([early], timeout=0.01)
    due = clock.next_due()
    assert due is not None
    await clock.move_to(due)
    async with asyncio.timeout(10):
        await early

    assert not late.done()
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert clock.next_due() is None


async def test_who_sleeps_wakes_by_itself_too(file: Path) -> None:
    clock = SandboxClock.on_file(file, SystemClock())
    async with asyncio.timeout(10):
        await clock.sleep(0.01)

    assert clock.next_due() is None
