"""A pytest plug-in: the files of tests are in memory, where the machine has room for them.

SQLite answers when the disk has what was written, for which over a thousand tests wait several
times each, and PostgreSQL writes three hundred files for each database that a test has for
itself.  No test is about a machine that loses its power, and after a killed process files in
memory hold the same.

With ``TMPDIR`` set, files are there.
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

#: Linux keeps in memory what is written there.
_MEMORY = Path("/dev/shm")
#: Several times what the servers of a whole run and its tests have at one time.
_ROOM_BYTES = 2 << 30
_VARIABLE = "TMPDIR"


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    if _VARIABLE not in os.environ and _has_room():
        os.environ[_VARIABLE] = str(_MEMORY)
        tempfile.tempdir = None  # it is looked up again


def _has_room() -> bool:
    """Say whether files can be written there and run; containers often have 64 MB of it."""
    if not os.access(_MEMORY, os.W_OK) or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(_MEMORY).free >= _ROOM_BYTES
