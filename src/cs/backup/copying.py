"""One consistent copy of a SQLite file, while others write it."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from cs.backup.errors import BackupError

#: How long to wait for somebody who holds the source for himself.
TIMEOUT_S = 10


def copy_database(source: Path, target: Path) -> None:
    """Copy the SQLite file *source* as it is at one moment to *target* (mode 0600).

    All pages are copied in one step, under one read transaction: copied in several, the
    copy begins anew whenever somebody else writes, and beside a busy service never ends.
    Writers are not kept waiting.

    Raises:
        BackupError: It cannot be read or written.
    """
    try:
        make_file(target)
        with (
            closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as here,
            closing(sqlite3.connect(target)) as there,
        ):
            here.execute(f"PRAGMA busy_timeout = {TIMEOUT_S * 1000}")
            here.backup(there, pages=-1)
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{source} could not be copied to {target}: {error}") from error


def settle(database: Path) -> None:
    """Make *database* one whole, durable file: what is beside it goes into it.

    Raises:
        BackupError: It is damaged.
    """
    try:
        with closing(sqlite3.connect(database)) as db:
            db.execute("PRAGMA journal_mode=DELETE")
            found = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        raise BackupError(f"{database} is damaged: {error}") from error
    if found != "ok":
        raise BackupError(f"{database} is damaged: {found}")
    sync_file(database)


def copy_file(source: Path, target: Path) -> None:
    """Copy the plain file *source* to *target* (mode 0600), durably.

    Raises:
        BackupError: It cannot be read or written.
    """
    try:
        make_file(target)
        shutil.copyfile(source, target)
        sync_file(target)
    except OSError as error:
        raise BackupError(f"{source} could not be copied to {target}: {error}") from error


def write_file(target: Path, content: bytes) -> None:
    """Make the file *target* (mode 0600) with *content*, durably.

    Raises:
        BackupError: It cannot be written.
    """
    try:
        make_file(target)
        target.write_bytes(content)
        sync_file(target)
    except OSError as error:
        raise BackupError(f"{target} could not be written: {error}") from error


def make_file(path: Path) -> None:
    """Make *path*, which must not exist, readable for nobody else."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
