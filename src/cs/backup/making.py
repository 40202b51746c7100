"""Making a backup, beside a running service or without one.

The log and the operator's own directory are copied first and the keys second: a key is
durable before what needs it, so that the copy of the keys holds every key of the other copies.

The master keys that the copy is read with, and kept with if that is asked for, are those of one
moment: if their files change meanwhile, all is copied again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from cs.assembly.folder_clock import CLOCK_FILE
from cs.assembly.people_directory import DIRECTORY_FILE
from cs.backup.checking import Copies, LogCheck, check
from cs.backup.copying import copy_database, copy_file, settle, write_file
from cs.backup.errors import BackupError
from cs.backup.manifest import Manifest, Part, describe_files, sync_folder, write
from cs.runtime.data_folder import MASTER_KEY, NEXT_MASTER_KEY, DataFolder, DataFolderError
from cs.runtime.ids import random_id

#: The folders of the two parts inside a backup.
LOG, KEYS = "log", "keys"

#: A change of the master key begins once and ends once; a third is somebody who plays.
TRIES = 3
#: More is no master key; reading the copies says so.
_MASTER_KEY_BYTES = 4_096


class BackupFolders(msgspec.Struct, frozen=True):
    """Where the two parts of a backup are."""

    log: Path
    keys: Path


def backup_folders(target: Path, keys: Path | None) -> BackupFolders:
    """Return where the parts of the backup *target* are, its keys in *keys* if given."""
    target = target.absolute()
    return BackupFolders(target / LOG, keys.absolute() if keys is not None else target / KEYS)


async def make(
    source: DataFolder, at: BackupFolders, made_at: datetime, *, with_master_key: bool
) -> Manifest:
    """Back up *source* and read the copies whole; return the manifest of the log.

    Raises:
        DataFolderError: The backup could not be made; nothing of it is left.
    """
    if at.keys == at.log:
        raise BackupError("the keys must not lie in the folder of the log; name another")
    for folder in (at.log.parent, at.log, at.keys):
        _refuse_used(folder)
    try:
        for folder in (at.log, at.keys):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
        checked = await _copy(source, at, with_master_key=with_master_key)
        backup = random_id("backup_", 16)
        _describe(at.keys, "keys", backup, made_at, checked)
        return _describe(at.log, "log", backup, made_at, checked)
    except BaseException as error:
        for folder in (at.log, at.keys):
            _clear(folder)
        if isinstance(error, OSError):
            raise BackupError(f"the backup could not be written: {error}") from error
        raise


async def _copy(source: DataFolder, at: BackupFolders, *, with_master_key: bool) -> LogCheck:
    for _ in range(TRIES):
        before = _master_keys(source)
        try:
            checked = await _copied(source, at)
        except DataFolderError:
            if _master_keys(source) == before:
                raise
        else:
            if _master_keys(source) == before:
                break
        for folder in (at.log, at.keys):
            _empty(folder)
    else:
        raise BackupError("the master key was changed while it was copied; do it again")
    if with_master_key:
        for name, key in before.items():
            write_file(at.keys / name, key)
    return checked


async def _copied(source: DataFolder, at: BackupFolders) -> LogCheck:
    copies = (at.log / source.log.name, at.keys / source.data_keys.name)
    copy_database(source.log, copies[0])
    own = source.path / DIRECTORY_FILE
    if own.exists():
        copy_database(own, at.log / DIRECTORY_FILE)
        settle(at.log / DIRECTORY_FILE)
    copy_database(source.data_keys, copies[1])
    clock = source.path / CLOCK_FILE
    if clock.exists():  # a sandbox whose clock was moved
        copy_file(clock, at.log / CLOCK_FILE)
    checked = await check(Copies(*copies, source.master_key, source.next_master_key))
    for copy in copies:
        settle(copy)
    return checked


def _master_keys(source: DataFolder) -> Mapping[str, bytes]:
    """Return what the files of the master keys hold; of two only while it is changed.

    The one in use is read first: the other takes its place, never the other way round.
    """
    held = {}
    for name, path in (
        (MASTER_KEY, source.master_key),
        (NEXT_MASTER_KEY, source.next_master_key),
    ):
        try:
            with path.open("rb") as file:
                held[name] = file.read(_MASTER_KEY_BYTES)
        except FileNotFoundError:
            continue
    return held


def _describe(
    folder: Path, part: Part, backup: str, made_at: datetime, checked: LogCheck
) -> Manifest:
    names = sorted(path.name for path in folder.iterdir())
    manifest = Manifest(
        part=part,
        backup=backup,
        made_at=made_at,
        version=version("contact-search"),
        world=checked.world,
        head=checked.head,
        violations=checked.violations,
        keys_lost=checked.keys_lost,
        files=describe_files(folder, names),
        master_keys=checked.master_keys if part == "keys" else (),
    )
    write(folder, manifest)
    sync_folder(folder.parent)
    return manifest


def _refuse_used(folder: Path) -> None:
    try:
        used: Sequence[Path] = list(folder.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataFolderError(f"{folder} cannot be used: {error.strerror}") from error
    if used:
        raise BackupError(f"{folder} is not empty; name a new folder for each backup")


def _clear(folder: Path) -> None:
    """Take away what was begun in *folder*, which was empty."""
    if folder.is_dir():
        _empty(folder)
        folder.rmdir()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
