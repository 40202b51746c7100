"""What a backup says of itself, and whether its files are still those it was made with.

A backup has two parts, each a folder with a manifest of its own, so that they can be kept
in two places: the log, and the keys that open the personal data in it.  The manifest is
written last: a folder without one is a backup that was not finished.
"""

import hashlib
import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from cs.backup.errors import BackupError
from cs.runtime.private_files import open_private

MANIFEST = "manifest.json"
#: Raised when an older version could not read what this one writes.
FORMAT = 1

Part = Literal["log", "keys"]


class File(msgspec.Struct, frozen=True):
    """Size in bytes and SHA-256, in hex, of one file."""

    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a backup.

    Attributes:
        backup: The same in both parts of one backup.
        head: The position of the last event in the log; of both parts.
        master_keys: As `cs master-key show` names them; of the keys only.
        violations: Promises that the log breaks, by `cs.eventlog.audit`.
        keys_lost: Data keys of people in the log that the key store had lost.
    """

    format: int = FORMAT
    part: Part
    backup: str
    made_at: datetime
    version: str
    world: str | None
    head: int
    violations: int
    keys_lost: int = 0
    files: Mapping[str, File]
    master_keys: Sequence[str] = ()  # names of those that the keys are wrapped with


def describe_files(folder: Path, names: Sequence[str]) -> dict[str, File]:
    """Return what the files *names* in *folder* are now."""
    return {name: _described(folder / name) for name in names}


def _described(path: Path) -> File:
    with path.open("rb") as file:
        return File(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write(folder: Path, manifest: Manifest) -> None:
    """Put *manifest* in *folder* at one stroke, durably."""
    unfinished = folder / f"{MANIFEST}.new"
    with open_private(unfinished, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(manifest), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(folder / MANIFEST)
    sync_folder(folder)


def sync_folder(folder: Path) -> None:
    """Make the names in *folder* durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read(folder: Path, part: Part) -> Manifest:
    """Return the manifest in *folder*, whose files are those it tells of.

    Raises:
        BackupError: It is no such part of a backup, was not finished, or is damaged.
    """
    path = folder / MANIFEST
    try:
        manifest = msgspec.json.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError as error:
        why = "has no manifest.json: it is no backup, or one that was not finished"
        raise BackupError(f"{folder} {why}; name another") from error
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BackupError(f"{path} is damaged: {error}; use another backup") from error
    if manifest.format > FORMAT:
        raise BackupError(f"{folder} was made by cs {manifest.version}; restore it with that")
    if manifest.part != part:
        raise BackupError(f"{folder} holds the {manifest.part} of a backup, not its {part}")
    for name, file in manifest.files.items():
        _check(folder, name, file)
    return manifest


def _check(folder: Path, name: str, file: File) -> None:
    path = folder / name
    if Path(name).name != name or not path.is_file():
        raise BackupError(f"{path} is missing from the backup; use another backup")
    if path.stat().st_size != file.size:
        found = path.stat().st_size
        raise BackupError(
            f"{path} has {found} bytes, not the {file.size} it was made with; "
            "use another backup"
        )
    if _described(path) != file:
        raise BackupError(
            f"{path} is damaged: it is not what it was when the backup was made; "
            "use another backup"
        )
