"""A folder in the temporary folder that is removed with its owner, and the servers in it."""

import fcntl
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from harness.servers.processes import command_line, end

_PREFIX = "cs-servers-"
#: Locked by the owner for as long as it lives, whatever ends it.
_OWNER = "owner"
#: Each server in the folder leaves its process id in a file with this ending.
PID = ".pid"
_END_S = 20.0


@contextmanager
def own_folder() -> Iterator[Path]:
    """Make a folder other accounts may pass through; removed on leaving.

    Servers that run in it then are ended.  Folders whose owner was killed are removed first.
    """
    sweep()
    with ExitStack() as held:
        while True:
            folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
            folder.chmod(0o711)
            owner = held.enter_context((folder / _OWNER).open("w"))
            fcntl.flock(owner, fcntl.LOCK_EX)
            if (folder / _OWNER).exists():  # no other process removed it before the lock
                break
        try:
            yield folder
        finally:
            _end_servers(folder)
            shutil.rmtree(folder)


def sweep() -> None:
    """Remove the folders that have no owner any more."""
    for folder in Path(tempfile.gettempdir()).resolve().glob(f"{_PREFIX}*"):
        try:
            with (folder / _OWNER).open("r+") as owner:
                fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_servers(folder)
                shutil.rmtree(folder)
        except (BlockingIOError, FileNotFoundError, PermissionError):
            pass  # its owner lives, another process removes it just now, or it is not ours


def _end_servers(folder: Path) -> None:
    """End the processes that are noted in *folder*, if they are still the ones noted."""
    noted = (re.match(r"\d+", file.read_text()) for file in folder.rglob(f"*{PID}"))
    pids = {int(found[0]) for found in noted if found is not None}
    end((pid for pid in pids if str(folder) in command_line(pid)), _END_S)
