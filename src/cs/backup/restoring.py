"""Restoring a backup into an empty data folder.

The files are copied next to their place and read completely there; only then they are moved,
the log first: whenever this is cut off, a service finds either nothing, or a log whose keys
are missing, and refuses.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from cs.assembly.folder_clock import CLOCK_FILE
from cs.assembly.people_directory import DIRECTORY_FILE
from cs.backup.files import (
    BackupError,
    BackupFolders,
    Manifest,
    copy_file,
    read_manifest,
    settle,
    sync,
)
from cs.backup.making import Copies, check
from cs.keystore.wrapping import Wrapping
from cs.runtime.data_folder import MASTER_KEY, NEXT_MASTER_KEY, DataFolder

#: Holds the files until they have been read; one that was left behind is removed.
STAGING = "restoring"
#: Files that may be in a data folder without data.
_NO_DATA = {"lock", MASTER_KEY, NEXT_MASTER_KEY, STAGING}


class _MasterKeys(NamedTuple):
    """Files of the master key, and of the one that replaces it while it is changed."""

    key: Path
    following: Path | None = None


class RestoreResult(msgspec.Struct, frozen=True):
    """The restored manifest, and the id of the backup that the keys are from."""

    manifest: Manifest
    keys_from: str


async def restore(
    at: BackupFolders, target: DataFolder, master_keys: Sequence[Path] = ()
) -> RestoreResult:
    """Restore the backup *at* into *target*.

    Args:
        at: The backup.
        target: A folder without data; its ``master.key`` may be there already.
        master_keys: The file with the master key, if it is neither there nor in the backup;
            two, in any order, if the backup was made while the master key was changed.

    Raises:
        DataFolderError: *target* holds data or is served, or the backup is not whole.
            Nothing was changed.
    """
    with target.held():
        found = sorted(p.name for p in target.path.iterdir() if p.name not in _NO_DATA)
        if found:
            raise BackupError(
                f"{target.path} holds data ({', '.join(found)}); nothing was changed. Restore "
                "into an empty folder: name another with --data-dir, or move this one away"
            )
        manifest, keys = read_manifest(at.log, "log"), read_manifest(at.keys, "keys")
        if keys.made_at < manifest.made_at:
            raise BackupError(
                f"the keys in {at.keys} are older than the log in {at.log}; "
                "use those of the same backup or newer ones"
            )
        staging = target.path / STAGING
        try:
            master = _ordered(_master_keys(at, target, master_keys), keys)
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir(mode=0o700)
            await _stage(at, staging, target, manifest, master)
            _move(staging, target)
        except OSError as error:
            raise BackupError(f"{target.path} could not be restored: {error}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return RestoreResult(manifest, keys.backup)


def _master_keys(
    at: BackupFolders, target: DataFolder, named: Sequence[Path]
) -> Sequence[Path]:
    """Return the files that master keys are in: *named*, in *target* or in the backup."""
    in_target = [each for each in (target.master_key, target.next_master_key) if each.exists()]
    for path in named:
        if not path.exists():
            raise BackupError(f"there is no master key in {path}")
    if named and target.master_key in in_target:
        raise BackupError(f"{target.master_key} is there already; leave --master-key out")
    if not target.own_master_key and target.master_key not in in_target:
        raise BackupError(
            f"master_key_file: there is no master key in {target.master_key}; bring it back "
            "there from where you keep it"
        )
    if named or in_target:
        return named or in_target
    copied = [at.keys / name for name in (MASTER_KEY, NEXT_MASTER_KEY)]
    if found := [path for path in copied if path.exists()]:
        return found
    raise BackupError(
        "the master key is not in this backup; bring master.key back from where you keep it "
        "and name it with --master-key"
    )


def _ordered(files: Sequence[Path], keys: Manifest) -> _MasterKeys:
    """Return which of *files* is the master key of *keys*.

    Raises:
        BackupError: *keys* are wrapped with two, and one of them is missing.
    """
    found = {}
    for path in files:
        key = path.read_bytes()
        if len(key) != 32:
            raise BackupError(f"{path} holds {len(key)} bytes, not a 32-byte key")
        found[Wrapping(key).version] = path
    if len(keys.master_keys) < 2:
        wanted = next(iter(keys.master_keys), None)
        return _MasterKeys(found.get(wanted or "", files[0]))
    following, *older = keys.master_keys
    if missing := [version for version in keys.master_keys if version not in found]:
        raise BackupError(
            "this backup was made while the master key was changed: its keys are wrapped with "
            f"{' and '.join(keys.master_keys)}, and {' and '.join(missing)} is missing; "
            "name both with --master-key OLD --master-key NEW"
        )
    return _MasterKeys(found[older[0]], found[following])


async def _stage(
    at: BackupFolders,
    staging: Path,
    target: DataFolder,
    manifest: Manifest,
    master: _MasterKeys,
) -> None:
    log, data_keys = staging / target.log.name, staging / target.data_keys.name
    copy_file(at.log / log.name, log)
    copy_file(at.keys / data_keys.name, data_keys)
    for name in (CLOCK_FILE, DIRECTORY_FILE):
        if name in manifest.files:
            copy_file(at.log / name, staging / name)
    if target.own_master_key and master.key != target.master_key:
        for path, name in zip(master, (MASTER_KEY, NEXT_MASTER_KEY), strict=True):
            if path is not None:
                copy_file(path, staging / name)
        master = _MasterKeys(staging / MASTER_KEY, staging / NEXT_MASTER_KEY)
    found = await check(Copies(log, data_keys, master.key, master.following))
    if (found.head, found.world) != (manifest.head, manifest.world):
        raise BackupError(
            f"the log in {at.log} ends at position {found.head} and not at {manifest.head}, "
            "where its manifest says; use another backup"
        )
    if found.keys_lost > manifest.keys_lost:
        raise BackupError(
            f"{at.keys} lacks {found.keys_lost} keys of people in {at.log}, which lacked "
            f"{manifest.keys_lost}: it is older than the log; use keys of the same backup or "
            "newer ones"
        )
    for database in (log, data_keys):
        settle(database)


def _move(staging: Path, target: DataFolder) -> None:
    names = (
        CLOCK_FILE,
        DIRECTORY_FILE,
        target.log.name,
        target.data_keys.name,
        MASTER_KEY,
        NEXT_MASTER_KEY,
    )
    for name in names:
        if (staging / name).exists():
            (staging / name).rename(target.path / name)
            sync(target.path)
    if target.own_master_key:
        target.master_key.chmod(0o600)
