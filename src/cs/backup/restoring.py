"""Bringing a backup back into an empty data folder.

The files are copied beside their place and read whole there; only then they are moved,
the log first: whatever moment this ends at, a service finds either nothing, or a log
whose keys are missing, and refuses.
"""

import shutil
from pathlib import Path

import msgspec

from cs.backup.checking import Copies, check
from cs.backup.copying import copy_file, settle
from cs.backup.making import Places
from cs.backup.manifest import BackupError, Manifest, read, sync_folder
from cs.data_folder import DataFolder
from cs.wiring import CLOCK_FILE

#: Where the files are until they have been read; one left behind is taken away.
STAGING = "restoring"
#: What may be in a data folder that holds no data.
_NO_DATA = {"lock", "master.key", STAGING}


class Restored(msgspec.Struct, frozen=True):
    """What was brought back; *keys_from* is another backup's id if the keys are its."""

    manifest: Manifest
    keys_from: str


async def restore(at: Places, target: DataFolder, master_key: Path | None) -> Restored:
    """Bring the backup *at* back into *target*.

    Args:
        at: The backup.
        target: A folder without data; its ``master.key`` may be there already.
        master_key: The file with the master key, if it is neither there nor in the backup.

    Raises:
        DataFolderError: *target* holds data or is served, or the backup is not whole.
            Nothing was changed.
    """
    with target.held():
        _refuse_data(target)
        manifest, keys = read(at.log, "log"), read(at.keys, "keys")
        if keys.made_at < manifest.made_at:
            raise BackupError(
                f"the keys in {at.keys} are older than the log in {at.log}; "
                "use those of the same backup or newer ones"
            )
        master = _master_key(at, target, master_key)
        staging = target.path / STAGING
        try:
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir(mode=0o700)
            await _stage(at, staging, target, manifest, master)
            _move(staging, target)
        except OSError as error:
            raise BackupError(f"{target.path} could not be written: {error}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return Restored(manifest, keys.backup)


def _refuse_data(target: DataFolder) -> None:
    found = sorted(path.name for path in target.path.iterdir() if path.name not in _NO_DATA)
    if found:
        raise BackupError(
            f"{target.path} holds data ({', '.join(found)}); nothing was changed. Restore "
            "into an empty folder: name another with --data-dir, or move this one away"
        )


def _master_key(at: Places, target: DataFolder, given: Path | None) -> Path:
    """Return the file that the master key is in."""
    there = [path for path in (given, target.master_key) if path is not None and path.exists()]
    if given is not None and given not in there:
        raise BackupError(f"there is no master key in {given}")
    if given is not None and target.master_key in there:
        raise BackupError(f"{target.master_key} is there already; leave --master-key out")
    there.append(at.keys / target.master_key.name)
    for path in there:
        if path.exists():
            return path
    raise BackupError(
        "the master key is not in this backup; bring master.key back from where you keep it "
        "and name it with --master-key"
    )


async def _stage(
    at: Places, staging: Path, target: DataFolder, manifest: Manifest, master: Path
) -> None:
    log, data_keys = staging / target.log.name, staging / target.data_keys.name
    copy_file(at.log / log.name, log)
    copy_file(at.keys / data_keys.name, data_keys)
    if CLOCK_FILE in manifest.files:
        copy_file(at.log / CLOCK_FILE, staging / CLOCK_FILE)
    if master != target.master_key:
        copy_file(master, staging / target.master_key.name)
        master = staging / target.master_key.name
    found = await check(Copies(log, data_keys, master))
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
    names = (CLOCK_FILE, target.log.name, target.data_keys.name, target.master_key.name)
    for name in names:
        if (staging / name).exists():
            (staging / name).rename(target.path / name)
            sync_folder(target.path)
    target.master_key.chmod(0o600)
