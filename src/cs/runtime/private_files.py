"""Files for their owner only, whatever the folder's mode and the umask say."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

#: Of a key's file: who else may read it.
GROUP, OTHERS = 0o070, 0o007
#: What is mounted where, one a line: proc(5).
MOUNTS = Path("/proc/self/mountinfo")
#: File systems that are in memory: secrets of Kubernetes, credentials of systemd.
_IN_MEMORY = frozenset({"tmpfs", "ramfs"})


class DeletedDataRemains(Exception):
    """Deleted rows are found no more, but their bytes are still in *files*.

    Another process reads those files; doing the same again once it has ended removes them.
    """

    def __init__(self, *files: str) -> None:
        named = ", ".join(files)
        super().__init__(
            f"what was deleted can still be read in {named}, because another process is "
            "reading there: end that process, then run the same command again"
        )
        self.files = files


def make_private(path: Path) -> None:
    """Make *path* (0600) if it is missing, and close it to others if it is open to them."""
    path.touch(mode=0o600, exist_ok=True)
    if path.stat().st_mode & (GROUP | OTHERS):
        path.chmod(0o600)


def open_private(path: Path, mode: str, buffering: int = -1) -> IO[Any]:
    """Open *path*; if that makes it, with mode 0600."""
    return open(path, mode, buffering, opener=_private)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def exposed(path: Path, mounts: Path = MOUNTS) -> str | None:
    """Say who else may read the key in *path*, and what to do; ``None`` if none may.

    Its group may where files are in memory only and cannot be changed: a mounted secret of
    Kubernetes with ``fsGroup`` is 0440, and the group that systemd shows of a credential is
    the mask of an access list.  The mount decides who is in that group.

    Raises:
        OSError: It cannot be looked at.
    """
    mode = path.stat().st_mode & 0o777
    if mode & OTHERS:
        who = "everybody on this machine"
    elif mode & GROUP and not _is_mounted_secret(path.resolve(), mounts):
        who = "its group"
    else:
        return None
    return f"{path} can be read by {who} (mode {mode:04o}); run: chmod 600 {path}"


def _is_mounted_secret(path: Path, mounts: Path) -> bool:
    """Whether *path* is on a read-only mount of a file system in memory."""
    found: tuple[int, bool] = (0, False)
    for line in mounts.read_text().splitlines():
        mount, _, system = line.partition(" - ")
        *_, place, options = mount.split()[:6]
        point = Path(place.replace("\\040", " "))
        if path.is_relative_to(point):
            secret = "ro" in options.split(",") and system.split()[0] in _IN_MEMORY
            found = max(found, (len(point.parts), secret))
    return found[1]


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Make a folder in *parent*, named *prefix* and something new; removed on leaving.

    Those that killed processes left there are removed first.  Whose process lives is known
    by its lock, which ends with the process.
    """
    for left in parent.glob(f"{prefix}*"):
        _remove_if_left(left)
    with tempfile.TemporaryDirectory(
        prefix=prefix, dir=parent, ignore_cleanup_errors=True
    ) as name:
        descriptor = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(descriptor)


def _remove_if_left(folder: Path) -> None:
    # Gone meanwhile, of another account, no folder, or locked.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One that is empty was perhaps made just now and is about to be locked.
            if os.fstat(descriptor).st_uid == os.getuid() and any(folder.iterdir()):
                shutil.rmtree(folder)
        finally:
            os.close(descriptor)
