"""Making a backup, next to a running service or without one.

The log and the operator's own directory are copied first and the keys second: a key is
durable before what needs it, so the copy of the keys holds every key of the other copies.

The master keys that open the copies, and that are copied if that is asked for, are those of
one moment: if their files change meanwhile, everything is copied again.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from cs.assembly.folder_clock import CLOCK_FILE
from cs.assembly.folder_keys import open_key_store
from cs.assembly.folder_stores import open_folder
from cs.assembly.people_directory import DIRECTORY_FILE
from cs.backup.files import (
    BackupError,
    BackupFolders,
    File,
    Manifest,
    Part,
    copy_database,
    copy_file,
    settle,
    written,
)
from cs.eventlog.audit import Audit
from cs.eventlog.streams import Streams
from cs.runtime.data_folder import MASTER_KEY, NEXT_MASTER_KEY, DataFolder, DataFolderError
from cs.runtime.ids import random_id

#: A change of the master key begins once and ends once; give up after three changes.
TRIES = 3
#: A longer file is no master key; reading the copies says so.
_MASTER_KEY_BYTES = 4_096


class Copies(DataFolder):
    """Copies of a data folder's files, which need not lie together.

    The master key is read where it is: it is never copied just to look at the others.
    """

    def __init__(
        self, log: Path, data_keys: Path, master_key: Path, next_master_key: Path | None
    ) -> None:
        self._log = log
        self._data_keys = data_keys
        if next_master_key is not None and not next_master_key.exists():
            next_master_key = None
        super().__init__(
            log.parent, make=False, master_key=master_key, next_master_key=next_master_key
        )

    @property
    def log(self) -> Path:
        return self._log

    @property
    def data_keys(self) -> Path:
        return self._data_keys


class LogCheck(msgspec.Struct, frozen=True):
    """The contents of a log and its keys, as in `Manifest`.

    Attributes:
        keys_lost: A key that was destroyed is not lost: the key store says so.
    """

    head: int
    world: str | None
    violations: int
    keys_lost: int
    master_keys: Sequence[str]


async def check(copies: Copies) -> LogCheck:
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
            made.unlink(missing_ok=True)  # views, and what lies beside an open file
    if not head == position == audit.events:
        raise BackupError(f"{copies.log} ends at position {head} and holds {audit.events}")
    return LogCheck(head, world, violations, len(lost), master_keys)


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
        backup = random_id("backup_", 16)
        _manifest(at.keys, "keys", backup, made_at, checked).write(at.keys)
        manifest = _manifest(at.log, "log", backup, made_at, checked)
        manifest.write(at.log)
    except BaseException as error:
        for folder in (at.log, at.keys):
            if folder.is_dir():
                _empty(folder)
                folder.rmdir()
        if isinstance(error, OSError):
            raise BackupError(f"the backup could not be written: {error}") from error
        raise
    return manifest


async def _copy(source: DataFolder, at: BackupFolders, *, with_master_key: bool) -> LogCheck:
    for _ in range(TRIES):
        before = _master_keys(source)
        try:
            checked = await _copy_once(source, at)
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
    for name, key in before.items() if with_master_key else ():
        with written(at.keys / name):
            (at.keys / name).write_bytes(key)
    return checked


async def _copy_once(source: DataFolder, at: BackupFolders) -> LogCheck:
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
    """Return the contents of the master keys' files: two only during a change.

    The one in use is read first: the other replaces it, never the other way round.
    """
    files = {MASTER_KEY: source.master_key, NEXT_MASTER_KEY: source.next_master_key}
    held = {}
    for name, path in files.items():
        try:
            with path.open("rb") as file:
                held[name] = file.read(_MASTER_KEY_BYTES)
        except FileNotFoundError:
            continue
    return held


def _manifest(
    folder: Path, part: Part, backup: str, made_at: datetime, checked: LogCheck
) -> Manifest:
    return Manifest(
        part=part,
        backup=backup,
        made_at=made_at,
        version=version("contact-search"),
        world=checked.world,
        head=checked.head,
        violations=checked.violations,
        keys_lost=checked.keys_lost,
        files={path.name: File.of(path) for path in sorted(folder.iterdir())},
        master_keys=checked.master_keys if part == "keys" else (),
    )


def _refuse_used(folder: Path) -> None:
    try:
        used = folder.exists() and any(folder.iterdir())
    except OSError as error:
        raise BackupError(f"{folder} cannot be used: {error.strerror}") from error
    if used:
        raise BackupError(f"{folder} is not empty; name a new folder for each backup")


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()
