"""A data folder's master key and its data keys: opened, checked, and given a new master key.

The master key lies in the folder, where it is made at the first start, or in a file that the
settings name, which is never made here.
"""

import errno
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from cs.keystore.port import OpenToOthers, WrongMasterKey
from cs.keystore.sqlite import SqliteKeyStore
from cs.keystore.wrapping import MasterKeys, Wrapping, existing_master_key, master_key
from cs.metrics.metrics import Metrics
from cs.runtime.data_folder import DataFolder, DataFolderError
from cs.runtime.private_files import make_private
from cs.settings import BadSettings, Settings

#: Where one stream is damaged; follows what is damaged.
OF_DAMAGE = (
    "this needs that stream; what needs others goes on. `cs log verify` lists all damage; "
    "bring it back from a backup"
)
_WAIT = (
    "nothing is lost; end the process that holds it, or wait until it is done, and try again"
)
_ROOM = "nothing is lost; make room on its disk and try again"
_DISK = (
    "make room on its disk and try again; if there is room, the disk is read-only or failing"
)
_RIGHTS = (
    "nothing is lost; give this user the right to read and write {folder} and every file in "
    "it, on a file system that is not read-only, and try again"
)
_BACKUP = "bring it back from a backup, or name another folder with --data-dir"

#: By the names of SQLite's and the system's codes.
_ADVICE = {
    _WAIT: ("SQLITE_BUSY", "SQLITE_LOCKED"),
    _ROOM: ("SQLITE_FULL", "ENOSPC", "EDQUOT", "EFBIG"),
    _DISK: ("SQLITE_IOERR", "EIO"),
    _RIGHTS: (
        *("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"),
        *("EACCES", "EPERM", "EROFS"),
    ),
}
_BY_NAME = {name: text for text, names in _ADVICE.items() for name in names}


def folder_of(settings: Settings, *, make: bool = True) -> DataFolder:
    """Return the data folder of *settings*, with the master key that they name.

    Raises:
        DataFolderError: It cannot be used.
        BadSettings: They name the next master key and not the one in use.
    """
    key, following = settings.master_key_file, settings.next_master_key_file
    if following is not None and key is None:
        raise BadSettings("next_master_key_file: name the one in use, too: master_key_file")
    return DataFolder(
        settings.data_dir,
        make=make,
        master_key=key,
        next_master_key=following,
        erasure_journal=settings.erasure_journal,
    )


def open_key_store(
    folder: DataFolder,
    *,
    metrics: Metrics | None = None,
) -> SqliteKeyStore:
    """Return the data keys of *folder*, which are opened by entering them.

    Raises:
        DataFolderError: They or the master key cannot be used.
        WrongMasterKey: The file of the master key holds none.
    """

    def masters() -> Sequence[bytes]:
        keys = [existing_master_key(folder.master_key)]
        with suppress(FileNotFoundError):
            keys.append(existing_master_key(folder.next_master_key))
        return keys

    try:
        if folder.own_master_key:
            master_key(folder.master_key)
        else:
            _check_named_keys(folder)
        make_private(folder.data_keys)
        return SqliteKeyStore(
            folder.data_keys,
            MasterKeys(masters),
            metrics=metrics,
            journal=folder.erasure_journal,
        )
    except OpenToOthers as error:
        raise DataFolderError(str(error)) from error
    except OSError as error:
        raise DataFolderError(
            f"{error.filename or folder.path} cannot be used: {error.strerror or error}; "
            f"{advice(error, folder.path)}"
        ) from error


def stored_secret(settings: Settings, name: str) -> bytes:
    """Return the secret *name* of the key store in the data folder of *settings*.

    Raises:
        DataFolderError, WrongMasterKey: As `open_key_store`.
    """
    return open_key_store(folder_of(settings, make=False)).stored_secret(name)


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


def describe_wrong_key(folder: DataFolder, error: WrongMasterKey) -> str:
    """Return why the master key that the settings name is not that of *folder*, for people."""
    unused_key = folder.unused_master_key
    unused = f"; {unused_key} is not used" if unused_key else ""
    return (
        f"the data in {folder.path} cannot be used: {error}. It was given "
        f"{folder.master_key}, as master_key_file says{unused}"
    )


def make_next_master_key(folder: DataFolder) -> str:
    """Make the master key that is to replace *folder*'s, unless it is there; return its name.

    Raises:
        DataFolderError: It cannot be made or read.
    """
    try:
        return Wrapping(master_key(folder.next_master_key)).version
    except (OSError, OpenToOthers, WrongMasterKey) as error:
        raise DataFolderError(f"{folder.next_master_key} cannot be used: {error}") from error


def put_next_master_key_in_place(folder: DataFolder) -> Path:
    """Make the next master key of *folder* its master key; return where the old one is.

    A caller that is interrupted calls it again.
    """
    old = Wrapping(existing_master_key(folder.master_key)).version
    copy = folder.master_key.with_name(f"{folder.master_key.name}.{old}")
    if not copy.exists():
        copy.hardlink_to(folder.master_key)
    folder.next_master_key.replace(folder.master_key)
    return copy


def advice(error: BaseException, folder: Path) -> str:
    """Return what to do about *error*, met in *folder*: the end of a sentence, for people.

    A damaged file is the rarest of the reasons.  A full disk, a lock and a missing right lose
    nothing, so that the advice is to remove the cause, not to look for a backup.
    """
    for cause in _causes(error):
        # An error that the sqlite3 module raises by itself has no name.
        if isinstance(cause, sqlite3.Error) and hasattr(cause, "sqlite_errorname"):
            name = "_".join(cause.sqlite_errorname.split("_")[:2])  # without its details
        elif isinstance(cause, OSError):
            name = errno.errorcode.get(cause.errno or 0, "")
        else:
            continue
        return _BY_NAME.get(name, _BACKUP).format(folder=folder)
    return _BACKUP


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__
