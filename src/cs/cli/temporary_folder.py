"""A folder for as long as a process runs, however that ends."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


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
    # Gone meanwhile, somebody else's, no folder, or locked.
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # One that is empty was perhaps made just now and is about to be locked.
            if os.fstat(descriptor).st_uid == os.getuid() and any(folder.iterdir()):
                shutil.rmtree(folder)
        finally:
            os.close(descriptor)
