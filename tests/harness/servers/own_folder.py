"""A folder in the temporary folder that goes when its owner goes."""

import fcntl
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.servers.processes import command_line

_PREFIX = "cs-servers-"
#: Locked by the owner for as long as it lives, whatever ends it.
_OWNER = "owner"
#: Each server in the folder leaves its process id in a file with this ending.
PID = ".pid"


@contextmanager
def own_folder() -> Iterator[Path]:
    """Make a folder other accounts may pass through; removed on leaving.

    Folders whose owner was killed are removed first, with the servers that still run in them.
    """
    sweep()
    with ExitStack() as held:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
            folder.chmod(0o711)
            owner = held.enter_context((folder / _OWNER).open("w"))
            fcntl.flock(owner, fcntl.LOCK_EX)
            if (folder / _OWNER).exists():  # nobody swept it before it was locked
                break
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


def sweep() -> list[Path]:
    """Remove the folders that nobody owns any more and return them."""
    found = Path(tempfile.gettempdir()).resolve().glob(f"{_PREFIX}*")
    return [folder for folder in found if _swept(folder)]


def _swept(folder: Path) -> bool:
    try:
        with (folder / _OWNER).open("r+") as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for file in folder.rglob(f"*{PID}"):
                _end(file, folder)
            for server in folder.iterdir():
                if server.is_dir():
                    shutil.rmtree(server, ignore_errors=True)
            if any(path.is_dir() for path in folder.iterdir()):
                return False  # its last child still writes; the next sweep has it
            shutil.rmtree(folder)
    except (BlockingIOError, FileNotFoundError, PermissionError):
        return False  # it lives, is being made or removed at this moment, or is not ours
    return True


def _end(file: Path, folder: Path) -> None:
    """Kill the process noted in *file*, if it is still the one that was noted."""
    first = re.match(r"\d+", file.read_text())
    if first is None:
        return
    if str(folder) in command_line(int(first[0])):
        os.kill(int(first[0]), signal.SIGKILL)
