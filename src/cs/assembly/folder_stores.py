"""Opening what a data folder holds, and what to do when it cannot be used.

A damaged file is the rarest of the reasons: a full disk, a lock and a missing right lose
nothing, and whoever reads about them is told how to go on, not to look for a backup.
"""

import errno
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import msgspec
from eventsourcing.persistence import PersistenceError
from structlog import get_logger

from cs.assembly.monitored_keys import MonitoredKeyStore
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.sqlite.file import LogFile
from cs.eventlog.sqlite.log import SqliteEventLog
from cs.eventlog.sqlite.snapshots import SqliteSnapshots
from cs.keystore.errors import OpenToOthers, WrongMasterKey
from cs.keystore.port import KeyStore
from cs.keystore.sqlite import SqliteKeyStore, existing_master_key, master_key
from cs.keystore.wrapping import PAID_CALLS, MasterKeys, Wrapping
from cs.paid_calls.forgetting import forget_expired_calls
from cs.paid_calls.paid import Paid, PaidOnce
from cs.paid_calls.sqlite import SqliteCalls
from cs.projections.catalogue import projections
from cs.projections.sqlite.views import SqliteViews
from cs.runtime.data_folder import DataFolder, DataFolderError
from cs.settings import BadSettings, Settings
from cs.sqlite.database import LOCK_TIMEOUT_S
from cs.sqlite.errors import describe

log = get_logger()

#: Paid calls of the last hour; can be deleted while the service is stopped, and then those of
#: running searches may be made again.
CALLS_FILE = "calls.db"

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


class FolderStores(msgspec.Struct, frozen=True):
    """What a data folder holds, open."""

    log: SqliteEventLog
    keys: KeyStore
    views: SqliteViews
    snapshots: SqliteSnapshots


def folder_of(settings: Settings, *, make: bool = True) -> DataFolder:
    """Return the data folder of *settings*, with the master key that they name.

    Raises:
        DataFolderError: It cannot be used.
        BadSettings: They name the next master key and not the one in use.
    """
    key, following = settings.master_key_file, settings.next_master_key_file
    if following is not None and key is None:
        raise BadSettings("next_master_key_file: name the one in use, too: master_key_file")
    return DataFolder(settings.data_dir, make=make, master_key=key, next_master_key=following)


@asynccontextmanager
async def open_folder(
    folder: DataFolder,
    *,
    appends_waiting: int | None = None,
    lock_timeout_s: int = LOCK_TIMEOUT_S,
) -> AsyncIterator[FolderStores]:
    """Open what is in *folder*, beside a running service or without one.

    Args:
        folder: Where the files are.
        appends_waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        lock_timeout_s: How long to wait for another process's transaction.

    Raises:
        DataFolderError: It cannot be used, now or while it is open, or the keys are not
            those of the log.  The message says why and what to do.
    """
    try:
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(
                open_key_store(folder, lock_timeout_s=lock_timeout_s)
            )
            file = LogFile(folder.data_keys)
            file.opened()
            keys = MonitoredKeyStore(store, file)
            events = await stack.enter_async_context(
                SqliteEventLog(
                    folder.log, keys, waiting=appends_waiting, lock_timeout_s=lock_timeout_s
                )
            )
            snapshots = await stack.enter_async_context(SqliteSnapshots(folder.log))
            views = _views(folder)
            stack.push_async_callback(views.close)
            yield FolderStores(events, keys, views, snapshots)
    except (WrongMasterKey, LogUnavailable, PersistenceError, sqlite3.DatabaseError) as error:
        if isinstance(error, WrongMasterKey) and not folder.own_master_key:
            raise DataFolderError(_wrong_named_key(folder, error)) from error
        raise DataFolderError(
            f"the data in {folder.path} cannot be used: {describe(error)}; "
            f"{_advice(error, folder.path)}"
        ) from error


@asynccontextmanager
async def open_paid_calls(settings: Settings) -> AsyncIterator[Paid]:
    """Yield what remembers paid calls beside the data in the folder of *settings*.

    Nothing is made before the first such call: most services never make one.
    """
    async with (
        SqliteCalls(settings.data_dir / CALLS_FILE, partial(_calls_key, settings)) as calls,
        forget_expired_calls(calls),
    ):
        yield PaidOnce(calls)


async def erase_paid_calls(settings: Settings, lookups: Iterable[str]) -> int:
    """Forget the paid calls of *lookups* beside the data in the folder of *settings*.

    Raises:
        CallsUnavailable: They cannot be forgotten now.
    """
    file = settings.data_dir / CALLS_FILE
    if not os.access(file, os.F_OK):
        return 0

    async with SqliteCalls(file, partial(_calls_key, settings)) as calls:
        return await calls.erase(lookups)


def _calls_key(settings: Settings) -> bytes:
    keys = open_key_store(folder_of(settings, make=False))
    try:
        return keys.stored_secret(PAID_CALLS)
    finally:
        keys.close()


def _advice(error: BaseException, folder: Path) -> str:
    """Return what to do about *error*."""
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


def open_key_store(
    folder: DataFolder, *, lock_timeout_s: int = LOCK_TIMEOUT_S
) -> SqliteKeyStore:
    """Open the data keys of *folder* by themselves.

    Raises:
        DataFolderError: They or the master key cannot be used.
        WrongMasterKey: The master key is not theirs.
    """

    def masters() -> Sequence[bytes]:
        held = [existing_master_key(folder.master_key)]
        with suppress(FileNotFoundError):
            held.append(existing_master_key(folder.next_master_key))
        return held

    try:
        if folder.own_master_key:
            master_key(folder.master_key)
        else:
            _check_named_keys(folder)
        return SqliteKeyStore(
            folder.data_keys, MasterKeys(masters), lock_timeout_s=lock_timeout_s
        )
    except OpenToOthers as error:
        raise DataFolderError(str(error)) from error
    except OSError as error:
        raise DataFolderError(
            f"{error.filename or folder.path} cannot be used: {error.strerror or error}; "
            f"{_advice(error, folder.path)}"
        ) from error


def _check_named_keys(folder: DataFolder) -> None:
    """Pass if the master keys that the settings name can be read: they are never made here.

    Raises:
        DataFolderError, OpenToOthers, WrongMasterKey: They cannot.
    """
    named = [("master_key_file", folder.master_key)]
    if folder.next_master_key_named:
        named.append(("next_master_key_file", folder.next_master_key))
    for setting, file in named:
        try:
            existing_master_key(file)
        except OSError as error:
            how = f"make one with: (umask 077; head -c 32 /dev/urandom > {file})"
            if (unused_key := folder.unused_master_key) and file == folder.master_key:
                how = f"the data has one in {unused_key}: move it there"
            raise DataFolderError(
                f"{setting}: {file} cannot be read: {error.strerror}; {how}"
            ) from error


def _wrong_named_key(folder: DataFolder, error: WrongMasterKey) -> str:
    unused_key = folder.unused_master_key
    unused = f"; {unused_key} is not used" if unused_key else ""
    return (
        f"the data in {folder.path} cannot be used: {error}. It was given "
        f"{folder.master_key}, as master_key_file says{unused}"
    )


def make_next_master_key(folder: DataFolder) -> str:
    """Make the master key that takes the place of *folder*'s unless it is there; name it.

    Raises:
        DataFolderError: It cannot be made or read.
    """
    try:
        return Wrapping(master_key(folder.next_master_key)).version
    except (OSError, OpenToOthers, WrongMasterKey) as error:
        raise DataFolderError(f"{folder.next_master_key} cannot be used: {error}") from error


def put_next_master_key_in_place(folder: DataFolder) -> Path:
    """Let the next master key of *folder* be its master key; return where the old one is.

    Cut off in the middle, it is done by doing it again.
    """
    old = Wrapping(existing_master_key(folder.master_key)).version
    kept = folder.master_key.with_name(f"{folder.master_key.name}.{old}")
    if not kept.exists():
        kept.hardlink_to(folder.master_key)
    folder.next_master_key.replace(folder.master_key)
    return kept


def _views(folder: DataFolder) -> SqliteViews:
    """Open the views, made anew if they are damaged: the log knows everything in them."""
    try:
        return SqliteViews(folder.views, projections())
    except sqlite3.OperationalError:
        raise  # locked, full or not ours: nothing is wrong with what is in them
    except sqlite3.DatabaseError as error:
        log.warning("views_damaged", error=str(error))
        for suffix in ("", "-wal", "-shm"):
            folder.views.with_name(folder.views.name + suffix).unlink(missing_ok=True)
        return SqliteViews(folder.views, projections())
