"""Backing up a data folder, next to a running service or without one, and restoring it.

The log and the operator's own directory are copied first and the keys second: a key is
durable before what needs it, so the copy of the keys holds every key of the other copies.

When restoring, the files are copied next to their place and read completely there; only then
they are moved, the log first: whenever this is interrupted, a service finds either nothing, or
a log whose keys are missing, and refuses.
"""

import shutil
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import structs

from cs.assembly.folder import CLOCK_FILE, open_folder
from cs.assembly.folder_keys import open_key_store
from cs.assembly.people_directory import DIRECTORY_FILE
from cs.backup.files import (
    BackupError,
    BackupFolders,
    File,
    LogCheck,
    Manifest,
    copy_database,
    copy_file,
    settle,
    sync,
    written,
)
from cs.eventlog.audit import Audit
from cs.eventlog.streams import Streams
from cs.keystore.wrapping import Wrapping
from cs.runtime.data_folder import MASTER_KEY, NEXT_MASTER_KEY, DataFolder, DataFolderError
from cs.runtime.ids import random_id

MASTER_KEY_BYTES = 32
#: Holds the files of a restore until they have been read; one that was left is removed.
STAGING = "restoring"
#: Files that may be in a data folder without data.
_NO_DATA = {"lock", MASTER_KEY, NEXT_MASTER_KEY, STAGING}


class RestoreResult(msgspec.Struct, frozen=True):
    """The restored manifest, and the id of the backup that the keys are from."""

    manifest: Manifest
    keys_from: str


class _Copies(DataFolder):
    """Copies of the log and the keys, which may be in two folders; opened, never made."""

    def __init__(self, log: Path, data_keys: Path, *master_keys: Path) -> None:
        self._data_keys = data_keys
        key, *following = (path for path in master_keys if path.exists())
        super().__init__(
            log.parent, make=False, master_key=key, next_master_key=next(iter(following), None)
        )

    @property
    def data_keys(self) -> Path:
        return self._data_keys


async def make(
    source: DataFolder, at: BackupFolders, made_at: datetime, *, with_master_key: bool
) -> Manifest:
    """Back up *source* and read the copies completely; return the manifest of the log.

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
        made = partial(
            Manifest,
            backup=random_id("backup-", 16),
            made_at=made_at,
            version=version("contact-search"),
            **structs.asdict(checked),
        )
        log = made(part="log", files=File.all_in(at.log))
        made(part="keys", files=File.all_in(at.keys)).write(at.keys)
        log.write(at.log)
    except BaseException as error:
        for folder in (at.log, at.keys):
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise BackupError(f"the backup could not be written: {error}") from error
        raise
    return log


async def restore(
    at: BackupFolders, target: DataFolder, master_key: Path | None = None
) -> RestoreResult:
    """Restore the backup *at* into *target*.

    Args:
        at: The backup.
        target: A folder without data; its ``master.key`` may be there already.
        master_key: The file with the master key, if it is neither there nor in the backup.

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
        manifest, keys = Manifest.read(at.log, "log"), Manifest.read(at.keys, "keys")
        if keys.made_at < manifest.made_at:
            raise BackupError(
                f"the keys in {at.keys} are older than the log in {at.log}; "
                "use those of the same backup or newer ones"
            )
        staging = target.path / STAGING
        try:
            key = _find_master_key(at, target, master_key)
            shutil.rmtree(staging, ignore_errors=True)
            staging.mkdir(mode=0o700)
            await _stage(at, staging, target, manifest, key)
            _move(staging, target)
        except OSError as error:
            raise BackupError(f"{target.path} could not be restored: {error}") from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return RestoreResult(manifest, keys.backup)


async def _check(copies: _Copies) -> LogCheck:
    """Read the log of *copies* completely, opening every personal value in it.

    Raises:
        BackupError: It cannot be read, or an event is missing.
    """
    before = set(copies.path.iterdir())
    try:
        async with open_folder(copies) as data:
            audit = Audit()
            violations = position = 0
            lost: set[str] = set()
            with data.keys.lost.listening(lambda value: lost.add(value.name)):
                while page := await data.log.tail(position):
                    violations += sum(1 for recorded in page for _ in audit.check(recorded))
                    position = page[-1].position
            head = await data.log.head()
            world = (await Streams(data.log).service()).state.world
        async with open_key_store(copies) as keys:
            master_keys = await keys.versions()
    except DataFolderError as error:
        raise BackupError(
            f"{copies.log} and {copies.data_keys} cannot be read: {error.__cause__ or error}"
        ) from error
    finally:
        for made in set(copies.path.iterdir()) - before:
            made.unlink(missing_ok=True)  # views, and files that SQLite keeps while open
    if not head == position == audit.events:
        raise BackupError(f"{copies.log} ends at position {head} and holds {audit.events}")
    return LogCheck(
        head=head,
        world=world,
        violations=violations,
        keys_lost=len(lost),
        master_keys=master_keys,
    )


async def _copy(source: DataFolder, at: BackupFolders, *, with_master_key: bool) -> LogCheck:
    held = _master_keys(source)
    log, keys = at.log / source.log.name, at.keys / source.data_keys.name
    copy_database(source.log, log)
    if (own := source.path / DIRECTORY_FILE).exists():
        copy_database(own, at.log / DIRECTORY_FILE)
        settle(at.log / DIRECTORY_FILE)
    copy_database(source.data_keys, keys)
    if (clock := source.path / CLOCK_FILE).exists():  # a sandbox whose clock was moved
        copy_file(clock, at.log / CLOCK_FILE)
    checked = await _check(_Copies(log, keys, source.master_key, source.next_master_key))
    if len(checked.master_keys) > 1 or not held.keys() & set(checked.master_keys):
        raise BackupError(
            "the master key is being changed: run `cs master-key rotate` to its end, then "
            "back up again"
        )
    for database in (log, keys):
        settle(database)
    if with_master_key:
        with written(at.keys / MASTER_KEY):
            (at.keys / MASTER_KEY).write_bytes(held[checked.master_keys[0]])
    return checked


def _master_keys(source: DataFolder) -> Mapping[str, bytes]:
    """Return the master keys of *source* by their names: two only during a change."""
    held = {}
    for path in (source.master_key, source.next_master_key):
        try:
            key = _read_master_key(path)
        except FileNotFoundError:
            continue
        held[Wrapping(key).version] = key
    return held


def _read_master_key(path: Path) -> bytes:
    with path.open("rb") as file:
        key = file.read(MASTER_KEY_BYTES + 1)
    if len(key) != MASTER_KEY_BYTES:
        raise BackupError(f"{path} does not hold a key of {MASTER_KEY_BYTES} bytes")
    return key


def _refuse_used(folder: Path) -> None:
    try:
        used = folder.exists() and any(folder.iterdir())
    except OSError as error:
        raise BackupError(f"{folder} cannot be used: {error.strerror}") from error
    if used:
        raise BackupError(f"{folder} is not empty; name a new folder for each backup")


def _find_master_key(at: BackupFolders, target: DataFolder, named: Path | None) -> Path:
    """Return the file of the master key: *named*, in *target* or in the backup."""
    there = target.master_key.exists()
    if named is not None and there:
        raise BackupError(f"{target.master_key} is there already; leave --master-key out")
    if not target.own_master_key and not there:
        raise BackupError(
            f"master_key_file: there is no master key in {target.master_key}; bring it back "
            "there from where you keep it"
        )
    key = named or (target.master_key if there else at.keys / MASTER_KEY)
    if named is not None and not key.exists():
        raise BackupError(f"there is no master key in {key}")
    if not key.exists():
        raise BackupError(
            "the master key is not in this backup; bring master.key back from where you keep "
            "it and name it with --master-key"
        )
    _read_master_key(key)
    return key


async def _stage(
    at: BackupFolders, staging: Path, target: DataFolder, manifest: Manifest, master_key: Path
) -> None:
    log, data_keys = staging / target.log.name, staging / target.data_keys.name
    copy_file(at.log / log.name, log)
    copy_file(at.keys / data_keys.name, data_keys)
    for name in (CLOCK_FILE, DIRECTORY_FILE):
        if name in manifest.files:
            copy_file(at.log / name, staging / name)
    if target.own_master_key and master_key != target.master_key:
        copy_file(master_key, staging / MASTER_KEY)
        master_key = staging / MASTER_KEY
    found = await _check(_Copies(log, data_keys, master_key))
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
    files = (target.log.name, target.data_keys.name, MASTER_KEY)
    for name in (CLOCK_FILE, DIRECTORY_FILE, *files):
        if (staging / name).exists():
            (staging / name).rename(target.path / name)
            sync(target.path)
    if target.own_master_key:
        target.master_key.chmod(0o600)
