"""Which clock a command goes by."""

from datetime import timedelta
from pathlib import Path

import pytest

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.folder import clock_of_data, open_folder, sandbox_clock
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolder, DataFolderError
from harness.in_process import on_folder
from system.damage.stores import SqliteStores


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


async def test_a_sandbox_s_moved_clock_is_gone_by(moved: Path) -> None:
    assert isinstance(await clock_of(moved), SandboxClock)


async def test_a_log_that_cannot_say_its_world_is_not_taken_for_a_sandbox_s(
    moved: Path,
) -> None:
    await SqliteStores(moved).replace(1, b"{nonsense")  # the world is its first event

    assert isinstance(await clock_of(moved), SystemClock)


async def test_a_moved_clock_next_to_data_of_no_world_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    DataFolder(folder)
    clock = sandbox_clock(folder)
    await clock.move_to(clock.now() + timedelta(days=30))

    with pytest.raises(DataFolderError, match="which only a sandbox may"):
        await clock_of(folder)
