"""What an operator is to do when a data folder cannot be used.

A damaged file is the rarest of the reasons.  A full disk, a lock and a missing right lose
nothing, so that the advice is to remove the cause, not to look for a backup.
"""

import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

#: Where one stream is damaged; follows what is damaged.
OF_DAMAGE = (
    "this needs that stream; what needs others goes on. `cs log verify` lists all damage; "
    "bring it back from a backup"
)
_WAIT = (
    "nothing is lost; end the process that holds it, or wait until it is done, and try again"
)
_ROOM = "nothing is lost; make room on its disk and try again"
_DISK = "make room on its disk and try again; if there is room, the disk is failing"
_RIGHTS = (
    "nothing is lost; give this user the right to read and write {folder} and every file in "
    "it, on a file system that is not read-only, and try again"
)
_BACKUP = "bring it back from a backup, or name another folder with --data-dir"

_BY_SQLITE = {
    sqlite3.SQLITE_BUSY: _WAIT,
    sqlite3.SQLITE_LOCKED: _WAIT,
    sqlite3.SQLITE_FULL: _ROOM,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_READONLY: _RIGHTS,
    sqlite3.SQLITE_CANTOPEN: _RIGHTS,
    sqlite3.SQLITE_PERM: _RIGHTS,
}
_BY_SYSTEM = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EIO: _DISK,
    errno.EACCES: _RIGHTS,
    errno.EPERM: _RIGHTS,
    errno.EROFS: _RIGHTS,
}


def advice(error: BaseException, folder: Path) -> str:
    """Return what to do about *error*, met in *folder*: the end of a sentence, for people."""
    for cause in _causes(error):
        # An error that the sqlite3 module raises by itself has no code.
        code = getattr(cause, "sqlite_errorcode", None)
        if code is not None:
            return _BY_SQLITE.get(code & 0xFF, _BACKUP).format(folder=folder)
        if isinstance(cause, OSError):
            return _BY_SYSTEM.get(cause.errno or 0, _BACKUP).format(folder=folder)
    return _BACKUP


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
