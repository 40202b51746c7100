"""The sandbox's clock: it ticks, jumps, wakes its sleepers and remembers how far it is."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cs.admin.sandbox_clock import SandboxClock
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolderError
from harness.manual_clock import ManualClock

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def files(folder: Path) -> list[str]:
    return [each.name for each in folder.iterdir()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "clock"


async def test_it_jumps_goes_on_ticking_and_never_jumps_back(file: Path) -> None:
    real = ManualClock(AT)
    clock = SandboxClock.on_file(file, real)
    assert clock.now() == AT
    assert files(file.parent) == [], "it was not moved"
    await clock.move_to(AT + HOUR)
    await clock.move_to(AT)
    real.set(AT + timedelta(seconds=3))

    assert clock.now() == AT + HOUR + timedelta(seconds=3)
    assert clock.monotonic() == 3603.0
    assert SandboxClock.on_file(file, ManualClock(AT)).now() == AT + HOUR
    assert files(file.parent) == ["clock"]


async def test_nothing_moves_if_it_cannot_be_kept(tmp_path: Path) -> None:
    clock = SandboxClock.on_file(tmp_path / "missing" / "clock", ManualClock(AT))
    with pytest.raises(OSError, match="clock"):
        await clock.move_to(AT + HOUR)

    assert clock.now() == AT


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
        await clock.sleep(0.01)  # wakes by itself, too

    assert not late.done()
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)
    assert clock.next_due() is None
