"""A sandbox whose clock was moved goes on at that time after a restore, never before it."""

from datetime import datetime, timedelta
from pathlib import Path

from cs.assembly.folder_clock import clock_of_data, sandbox_clock
from cs.assembly.folder_stores import open_folder
from cs.backup.files import backup_folders
from cs.backup.making import make
from cs.backup.restoring import restore
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.in_process import on_folder

MONTH = timedelta(days=30)


async def moved(folder: Path, by: timedelta) -> datetime:
    """Move the clock of the sandbox in *folder*; return an instant of its new time."""
    clock = sandbox_clock(folder)
    await clock.move_to(clock.now() + by)
    return clock.now()


async def copied(folder: Path, backup: Path) -> Path:
    """Back *folder* up and bring it back elsewhere; return where."""
    at, new = backup_folders(backup, None), backup.parent / f"{backup.name}-restored"
    source = DataFolder(folder, make=False)
    await make(source, at, SystemClock().now(), with_master_key=True)
    await restore(at, DataFolder(new))
    return new


async def now_of(folder: Path) -> datetime:
    """Return the time that a service on *folder* would go by."""
    async with open_folder(DataFolder(folder, make=False)) as data:
        return (await clock_of_data(data.log, folder)).now()


async def test_a_moved_clock_is_in_the_backup_and_goes_on_from_there(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with on_folder(folder):
        pass
    before = await moved(folder, MONTH)
    async with open_folder(DataFolder(folder)) as data:
        clock = await clock_of_data(data.log, folder)
        await Operator(Streams(data.log), clock).create_key("of next month", 1)

    new = await copied(folder, tmp_path / "backup")

    assert await now_of(new) >= before
    async with open_folder(DataFolder(new)) as data:
        newest = (await data.log.tail(await data.log.head() - 1))[-1].event
    assert before <= newest.at <= await now_of(new)


async def test_a_clock_moved_after_the_backup_is_not_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with on_folder(folder):
        pass
    await moved(folder, MONTH)
    first = await copied(folder, tmp_path / "first")
    later = await moved(folder, MONTH)

    second = await copied(folder, tmp_path / "second")

    assert later - MONTH < await now_of(first) < later <= await now_of(second)


async def test_without_a_moved_clock_none_is_brought_back(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    async with on_folder(folder):
        pass

    new = await copied(folder, tmp_path / "backup")

    assert not (new / "clock").exists()
    assert abs(await now_of(new) - SystemClock().now()) < timedelta(minutes=1)
