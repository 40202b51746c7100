"""The files of a backup: copied durably (mode 0600), listed in a manifest, compared with it.

A backup has two parts, each a folder with a manifest, so that they can be kept in two places:
the log, and the keys that open the personal data in it.  The manifest is written last: a
folder without one is an unfinished backup.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from cs.runtime.data_folder import DataFolderError

MANIFEST = "manifest.json"
#: Raised when an older version could not read what this one writes.
FORMAT = 1
#: How long to wait for a process that has the source to itself.
TIMEOUT_S = 10

Part = Literal["log", "keys"]


class BackupError(DataFolderError):
    """The backup cannot be made or used; the message says why and what to do."""


class BackupFolders(msgspec.Struct, frozen=True):
    """The folders of the two parts."""

    log: Path
    keys: Path


def backup_folders(target: Path, keys: Path | None) -> BackupFolders:
    """Return the folders of the backup *target*, its keys in *keys* if given."""
    target = target.absolute()
    return BackupFolders(target / "log", keys.absolute() if keys else target / "keys")


class File(msgspec.Struct, frozen=True):
    """Size in bytes and SHA-256, in hex, of one file."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "File":
        with path.open("rb") as file:
            return cls(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())

    @classmethod
    def all_in(cls, folder: Path) -> Mapping[str, "File"]:
        """Return the files in *folder* by their names."""
        return {path.name: cls.of(path) for path in sorted(folder.iterdir())}


class LogCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a log and its keys.

    Attributes:
        head: The position of the last event in the log.
        violations: Promises that the log breaks, by `cs.eventlog.audit`.
        keys_lost: Data keys of people in the log that the key store had lost.
        master_keys: Names as in `cs master-key show`.
    """

    world: str | None
    head: int
    violations: int
    keys_lost: int = 0
    master_keys: Sequence[str] = ()


class Manifest(LogCheck, frozen=True, kw_only=True):
    """One part of a backup, made of a checked copy.

    Attributes:
        backup: The same in both parts of one backup.
    """

    format: int = FORMAT
    part: Part
    backup: str
    made_at: datetime
    version: str
    files: Mapping[str, File]

    def write(self, folder: Path) -> None:
        """Put the manifest into *folder* atomically and durably."""
        unfinished = folder / f"{MANIFEST}.new"
        with written(unfinished):
            unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2))
        unfinished.rename(folder / MANIFEST)
        sync(folder)
        sync(folder.parent)

    @classmethod
    def read(cls, folder: Path, part: Part) -> "Manifest":
        """Return the manifest in *folder*, whose files are as it says.

        Raises:
            BackupError: It is no such part of a backup, was not finished, or is damaged.
        """
        path = folder / MANIFEST
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=cls)
        except FileNotFoundError as error:
            why = "has no manifest.json: it is no backup, or one that was not finished"
            raise BackupError(f"{folder} {why}; name another") from error
        except OSError as error:
            raise BackupError(f"{path} cannot be read: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BackupError(f"{path} is damaged: {error}; use another backup") from error
        if manifest.format > FORMAT:
            made_by = f"was made by cs {manifest.version}"
            raise BackupError(f"{folder} {made_by}; restore it with that version")
        if manifest.part != part:
            raise BackupError(f"{folder} holds the {manifest.part} of a backup, not its {part}")
        for name, file in manifest.files.items():
            path = folder / name
            if Path(name).name != name or not path.is_file():
                raise BackupError(f"{path} is missing from the backup; use another backup")
            if File.of(path) != file:
                raise BackupError(f"{path} was damaged after the backup; use another backup")
        return manifest


@contextmanager
def written(target: Path) -> Iterator[None]:
    """Make *target*, which must not exist, for its owner only; make it durable at the end.

    Raises:
        BackupError: It cannot be written, or its source cannot be read.
    """
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield
        sync(target)
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{target} could not be written: {error}") from error


def sync(path: Path) -> None:
    """Make the file *path*, or the names in the folder *path*, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def copy_file(source: Path, target: Path) -> None:
    """Copy *source* to *target*; raises as `written`."""
    with written(target):
        shutil.copyfile(source, target)


def copy_database(source: Path, target: Path) -> None:
    """Copy the SQLite file *source* as it is at one moment; raises as `written`.

    All pages are copied in one step, under one read transaction: copied in several, the
    copy starts again whenever another process writes, and next to a busy service never ends.
    Writers are not kept waiting.
    """
    with (
        written(target),
        closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as original,
        closing(sqlite3.connect(target)) as copy,
    ):
        original.execute(f"PRAGMA busy_timeout = {TIMEOUT_S * 1000}")
        original.backup(copy, pages=-1)


def settle(database: Path) -> None:
    """Write the journal of *database* into it, check it, and make it durable.

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
    sync(database)
