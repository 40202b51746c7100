"""A pytest plug-in: the files of tests are in memory, where the machine has room for them.

SQLite answers when the disk has what was written, for which over a thousand tests wait several
times each.  None of them asks what is left when the machine loses its power; those that ask
what is left when a process is killed are answered the same by files in memory.
"""

import os
import shutil
from pathlib import Path

import pytest

#: Linux keeps in memory what is written there.
_MEMORY = Path("/dev/shm")
#: Ten times what a whole run leaves lying if nothing of it is removed.
_ROOM_BYTES = 1 << 30
#: Of pytest: where its folders of files are.
_ROOT = "PYTEST_DEBUG_TEMPROOT"


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    if _has_room():
        os.environ.setdefault(_ROOT, str(_MEMORY))


def _has_room() -> bool:
    """Say whether files can be written there and run; containers often have 64 MB of it."""
    if not os.access(_MEMORY, os.W_OK) or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES
