"""The clock of a data folder: the machine's, or one that a sandbox has moved.

How far it was moved is in a file beside the data, so that a restart goes on from there.
"""

from pathlib import Path

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.log_world import world_of
from cs.domain.service import World
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import EventLog
from cs.runtime.clock import Clock, SystemClock
from cs.runtime.data_folder import DataFolderError

#: In the data folder of a sandbox whose clock was moved: by how many seconds.
CLOCK_FILE = "clock"


def sandbox_clock(data_dir: Path) -> SandboxClock:
    """Return the clock of the sandbox service on *data_dir*, which may not exist yet.

    Raises:
        DataFolderError: The file that says how far it was moved is damaged.
    """
    return SandboxClock.on_file(data_dir / CLOCK_FILE)


async def clock_of_data(log: EventLog, data_dir: Path) -> Clock:
    """Return the clock of the service on *data_dir*, for a command that runs next to it.

    If *log* is too damaged to say whether it is a sandbox's, that is the machine's: an event
    is never stored with a time before those of its stream, and never with one yet to come.

    Raises:
        DataFolderError: The clock was moved and the data is not a sandbox's.
    """
    if not (data_dir / CLOCK_FILE).exists():
        return SystemClock()
    try:
        world = await world_of(log)
    except DamagedEvent:
        return SystemClock()
    check_clock(data_dir, world)
    return sandbox_clock(data_dir)


def check_clock(data_dir: Path, world: World | None) -> None:
    """Pass if the clock of *data_dir* was not moved, or may be in *world*.

    Raises:
        DataFolderError: It was moved, and *world* is not the sandbox's.
    """
    file = data_dir / CLOCK_FILE
    if world != "sandbox" and file.exists():
        raise DataFolderError(
            f"{file} moves the clock, which only a sandbox may; delete it, or name another "
            "folder with --data-dir"
        )
