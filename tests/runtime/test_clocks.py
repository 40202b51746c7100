"""The clocks: the machine's, which may be set back, and a sandbox's, which is moved on."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.folder import clock_of_data, open_folder, sandbox_clock
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolder, DataFolderError
from harness.in_process import on_folder
from harness.manual_clock import ManualClock
from system.damage.stores import DamagedStores

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Machine:
    """Two clocks of a machine, moved by hand; only the wall clock is ever set."""

    def __init__(self) -> None:
        self.wall = AT
        self.seconds = 0.0
        self.clock = SystemClock(lambda: self.wall, lambda: self.seconds)

    def passes(self, by: timedelta) -> None:
        self.wall += by
        self.seconds += by.total_seconds()


def test_after_an_hour_back_the_machine_is_met_two_hours_later() -> None:
    machine = Machine()
    machine.clock.now()
    machine.wall -= HOUR
    machine.passes(2 * HOUR)
    met = machine.clock.now()
    machine.passes(HOUR)

    assert met == AT + HOUR == machine.wall - HOUR
    assert machine.clock.now() == machine.wall


spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=1))
steps = st.timedeltas(min_value=-HOUR, max_value=HOUR)


@given(st.lists(st.tuples(spans, steps), max_size=20))
def test_whatever_is_set_time_never_goes_back_or_stands_still(
    moves: list[tuple[timedelta, timedelta]],
) -> None:
    machine = Machine()
    for passed, step in moves:
        before = machine.clock.now()
        machine.passes(passed)
        machine.wall += step
        after = machine.clock.now()

        assert after >= machine.wall
        # Half of what passed, to the microsecond.
        assert after - before >= passed / 2 - timedelta(microseconds=2)


# The sandbox's.


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


async def test_sleepers_wake_when_they_are_due_and_others_sleep_on(file: Path) -> None:
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


# Which clock a command goes by.


@pytest.fixture
async def moved(tmp_path: Path) -> Path:
    """Return the folder of a sandbox whose clock was moved."""
    folder = tmp_path / "data"
    async with on_folder(folder):
        pass
    clock = sandbox_clock(folder)
    await clock.move_to(clock.now() + timedelta(days=30))
    return folder


async def clock_of(folder: Path) -> Clock:
    async with open_folder(DataFolder(folder)) as data:
        return await clock_of_data(data.log, folder)


async def test_a_log_that_cannot_say_its_world_is_not_taken_for_a_sandbox_s(
    moved: Path,
) -> None:
    await DamagedStores(moved).replace(1, b"{nonsense")  # the world is its first event

    assert isinstance(await clock_of(moved), SystemClock)


async def test_a_moved_clock_next_to_data_of_no_world_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    DataFolder(folder)
    clock = sandbox_clock(folder)
    await clock.move_to(clock.now() + timedelta(days=30))

    with pytest.raises(DataFolderError, match="which only a sandbox may"):
        await clock_of(folder)
