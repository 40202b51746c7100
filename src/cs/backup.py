"""Backing up a data folder, next to a running service or without one, and restoring it.

A backup has two parts, each a folder with a manifest, so that they can be kept in two places:
the log, and the keys that open the personal data in it.  The manifest is written last: a
folder without one is an unfinished backup.

The log and the operator's own directory are copied first and the keys second: a key is
durable before what needs it, so the copy of the keys holds every key of the other copies.
How far the log was, which the keys remember, is put back to what it was before the first copy.

When restoring, the files are copied next to their place and read completely there; only then
they are moved, the log first: whenever this is interrupted, a service finds either nothing, or
a log whose keys are missing, and refuses.
"""

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import structs

from cs.assembly.folder import CLOCK_FILE, open_folder
from cs.assembly.folder_keys import open_key_store
from cs.assembly.people_directory import DIRECTORY_FILE
from cs.eventlog.audit import Audit
from cs.eventlog.streams import Streams
from cs.keystore.wrapping import Wrapping
from cs.runtime.data_folder import (
    LAST_BACKUP,
    MASTER_KEY,
    NEXT_MASTER_KEY,
    DataFolder,
    DataFolderError,
)
from cs.runtime.ids import random_id

MANIFEST = "manifest.json"
#: Raised when an older version could not read what this one writes.
FORMAT = 1
#: How long to wait for a process that has the source to itself.
TIMEOUT_S = 10
MASTER_KEY_BYTES = 32
#: Holds the files of a restore until they have been read; one that was left is removed.
STAGING = "restoring"
#: Files that may be in a data folder without data.
_NO_DATA = {"lock", LAST_BACKUP, MASTER_KEY, NEXT_MASTER_KEY, STAGING}

Part = Literal["log", "keys"]


class BackupError(DataFolderError):
    """The backup cannot be made or used; the message says why and what to do."""


class BackupFolders(NamedTuple):
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
    for folder in (at.log.parent, *at):
        _refuse_used(folder)
    try:
        for folder in at:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
        checked = await _copy(source, at, with_master_key=with_master_key)
        log = Manifest(
            part="log",
            backup=random_id("backup-", 16),
            made_at=made_at,
            version=version("contact-search"),
            files=_files_in(at.log),
            **structs.asdict(checked),
        )
        _write(structs.replace(log, part="keys", files=_files_in(at.keys)), at.keys)
        _write(log, at.log)
    except BaseException as error:
        for folder in at:
            shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, OSError):
            raise BackupError(f"the backup could not be written: {error}") from error
        raise
    return log


def _files_in(folder: Path) -> Mapping[str, File]:
    return {path.name: File.of(path) for path in sorted(folder.iterdir())}


def _write(manifest: Manifest, folder: Path) -> None:
    """Put *manifest* into *folder* atomically and durably."""
    unfinished = folder / f"{MANIFEST}.new"
    with _written(unfinished):
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    unfinished.rename(folder / MANIFEST)
    _sync(folder)
    _sync(folder.parent)


def _refuse_used(folder: Path) -> None:
    try:
        used = folder.exists() and any(folder.iterdir())
    except OSError as error:
        raise BackupError(f"{folder} cannot be used: {error.strerror}") from error
    if used:
        raise BackupError(f"{folder} is not empty; name a new folder for each backup")


async def _copy(source: DataFolder, at: BackupFolders, *, with_master_key: bool) -> LogCheck:
    held, mark = _master_keys(source), _log_mark(source.data_keys)
    log, keys = at.log / source.log.name, at.keys / source.data_keys.name
    _copy_database(source.log, log)
    if (own := source.path / DIRECTORY_FILE).exists():
        _copy_database(own, at.log / DIRECTORY_FILE)
        _settle(at.log / DIRECTORY_FILE)
    _copy_database(source.data_keys, keys)
    _log_mark(keys, mark)
    if (clock := source.path / CLOCK_FILE).exists():  # a sandbox whose clock was moved
        _copy_file(clock, at.log / CLOCK_FILE)
    checked = await _check(_Copies(log, keys, source.master_key, source.next_master_key))
    if len(checked.master_keys) > 1 or not held.keys() & set(checked.master_keys):
        raise BackupError(
            "the master key is being changed: run `cs master-key rotate` to its end, then "
            "back up again"
        )
    for database in (log, keys):
        _settle(database)
    if with_master_key:
        with _written(at.keys / MASTER_KEY):
            (at.keys / MASTER_KEY).write_bytes(held[checked.master_keys[0]])
    return checked


def _log_mark(keys: Path, instead: Sequence[Any] | None = None) -> Sequence[Any]:
    """Return what *keys* remember of how far the log was; store *instead* if it is given.

    Raises:
        BackupError: They cannot be read.
    """
    try:
        with closing(sqlite3.connect(f"{keys.as_uri()}?mode=rw", uri=True)) as db, db:
            db.execute(f"PRAGMA busy_timeout = {TIMEOUT_S * 1000}")
            if not db.execute("SELECT 1 FROM pragma_table_info('log_mark')").fetchall():
                return ()  # keys that no process of this version has opened yet
            found = db.execute("SELECT * FROM log_mark").fetchall()
            if instead is not None:
                db.execute("DELETE FROM log_mark")
                db.executemany("INSERT INTO log_mark VALUES (?, ?, ?, ?, ?)", instead)
            return found
    except sqlite3.Error as error:
        raise BackupError(f"{keys} cannot be read: {error}") from error


def _master_keys(source: DataFolder) -> Mapping[str, bytes]:
    """Return the master keys of *source* by their names: two only during a change."""
    found = {}
    for path in (source.master_key, source.next_master_key):
        with suppress(FileNotFoundError):
            key = _read_master_key(path)
            found[Wrapping(key).version] = key
    return found


def _read_master_key(path: Path) -> bytes:
    with path.open("rb") as file:
        key = file.read(MASTER_KEY_BYTES + 1)
    if len(key) != MASTER_KEY_BYTES:
        raise BackupError(f"{path} does not hold a key of {MASTER_KEY_BYTES} bytes")
    return key


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


async def restore(
    at: BackupFolders, target: DataFolder, master_key: Path | None = None
) -> tuple[Manifest, Manifest]:
    """Restore the backup *at* into *target*; return the manifests of the log and the keys.

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
    return manifest, keys


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
    """Copy the backup *at* into *staging*, and check the copies."""
    log, data_keys = staging / target.log.name, staging / target.data_keys.name
    _copy_file(at.log / log.name, log)
    _copy_file(at.keys / data_keys.name, data_keys)
    for name in (CLOCK_FILE, DIRECTORY_FILE):
        if name in manifest.files:
            _copy_file(at.log / name, staging / name)
    if target.own_master_key and master_key != target.master_key:
        _copy_file(master_key, staging / MASTER_KEY)
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
        _settle(database)


def _move(staging: Path, target: DataFolder) -> None:
    files = (target.log.name, target.data_keys.name, MASTER_KEY)
    for name in (CLOCK_FILE, DIRECTORY_FILE, *files):
        if (staging / name).exists():
            (staging / name).rename(target.path / name)
            _sync(target.path)
    if target.own_master_key:
        target.master_key.chmod(0o600)


@contextmanager
def _written(target: Path) -> Iterator[None]:
    """Make *target*, which must not exist, for its owner only; make it durable at the end.

    Raises:
        BackupError: It cannot be written, or its source cannot be read.
    """
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        yield
        _sync(target)
    except (OSError, sqlite3.Error) as error:
        raise BackupError(f"{target} could not be written: {error}") from error


def _sync(path: Path) -> None:
    """Make the file *path*, or the names in the folder *path*, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _copy_file(source: Path, target: Path) -> None:
    with _written(target):
        shutil.copyfile(source, target)


def _copy_database(source: Path, target: Path) -> None:
    """Copy the SQLite file *source* as it is at one moment.

    All pages are copied in one step, under one read transaction: copied in several, the
    copy starts again whenever another process writes, and next to a busy service never ends.
    Writers are not kept waiting.
    """
    with (
        _written(target),
        closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as original,
        closing(sqlite3.connect(target)) as copy,
    ):
        original.execute(f"PRAGMA busy_timeout = {TIMEOUT_S * 1000}")
        original.backup(copy, pages=-1)


def _settle(database: Path) -> None:
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
    _sync(database)
