"""The folder that holds everything an embedded service knows."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from cs.runtime.private_files import make_private

#: The master key's file in the data folder, and the next one's while it is changed.
MASTER_KEY, NEXT_MASTER_KEY = "master.key", "master.key.next"
#: Its time is that of the last backup, before that of the first start; it is empty.
LAST_BACKUP = "last-backup"

#: What to do about a file system that the kernel, or a mount, made read-only.
_READ_ONLY = (
    "nothing is lost; its file system is read-only: make it writable (the kernel's log may say "
    "why it is not), and try again"
)


class DataFolderError(Exception):
    """The folder cannot be used; the message says why and what to do."""


class DataFolder:
    """Names of the files in *path*.

    Args:
        path: Of the folder.
        make: Make it (0700) if it is missing.
        master_key: A file elsewhere that holds the master key; only the
            operator writes it.
        next_master_key: The one that takes its place, while it is changed.
        erasure_journal: A file elsewhere that gets every erasure.

    Raises:
        DataFolderError: It is missing and not to be made, cannot be written, or lacks a
            file that cannot be made again.
    """

    def __init__(
        self,
        path: Path,
        *,
        make: bool = True,
        master_key: Path | None = None,
        next_master_key: Path | None = None,
        erasure_journal: Path | None = None,
    ) -> None:
        self.path = path.absolute()
        self.erasure_journal = erasure_journal
        self._master_key = master_key and master_key.absolute()
        self._next_master_key = next_master_key and next_master_key.absolute()
        if make:
            self._make()
        there = os.access(self.path, os.F_OK)
        if there and not os.access(self.path, os.W_OK | os.X_OK):
            advice = "give this user the right to, or name another with --data-dir"
            if os.statvfs(self.path).f_flag & os.ST_RDONLY:
                advice = _READ_ONLY
            raise DataFolderError(f"the data folder {self.path} cannot be written; {advice}")
        if not make and not os.access(self.log, os.F_OK):
            raise DataFolderError(
                f"there is no data in {self.path}; `cs keys create` and `cs serve` make it, "
                "or name another folder with --data-dir"
            )
        self._check_whole()

    @property
    def log(self) -> Path:
        return self.path / "log.db"

    @property
    def views(self) -> Path:
        """Can be deleted: it is rebuilt from the log."""
        return self.path / "views.db"

    @property
    def data_keys(self) -> Path:
        """The keys of the personal data in the log; never in the same backup."""
        return self.path / "keys.db"

    @property
    def master_key(self) -> Path:
        return self._master_key or self.path / MASTER_KEY

    @property
    def next_master_key(self) -> Path:
        """The one that takes its place: there while it is changed (`cs master-key rotate`)."""
        own = self.master_key.with_name(f"{self.master_key.name}.next")
        return self._next_master_key or own

    @property
    def next_master_key_named(self) -> bool:
        return self._next_master_key is not None

    @property
    def own_master_key(self) -> bool:
        """Whether the master key is in this folder: the service makes and changes it."""
        return not self.next_master_key_named and self.master_key == self.path / MASTER_KEY

    @property
    def unused_master_key(self) -> Path | None:
        """A master key in this folder that is not used, since the settings name another."""
        own = self.path / MASTER_KEY
        return own if self.master_key != own and own.exists() else None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other services off this folder.

        Raises:
            DataFolderError: One is running on it.
        """
        with self._lock_file() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                raise DataFolderError(
                    f"another service (process {file.read().strip() or 'unknown'}) runs on "
                    f"{self.path}; stop it, or name another folder with --data-dir"
                ) from error
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    @contextmanager
    def replaying_views(self) -> Iterator[None]:
        """Keep other processes from rebuilding the views of this folder meanwhile.

        Raises:
            DataFolderError: Another process does.
        """
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise DataFolderError(
                    f"another `cs replay views` works on {self.path}; wait until it has ended"
                ) from error
            yield
        finally:
            os.close(folder)  # which gives the lock back, as the end of the process does

    def _lock_file(self) -> TextIO:
        try:
            file = self.path / "lock"
            make_private(file)
            return file.open("a+")
        except OSError as error:
            raise self._unusable("cannot be written", error) from error

    def _make(self) -> None:
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if os.access(self.path, os.W_OK):  # after an error of its disk it says so, too
                os.utime(self.path)
        except OSError as error:
            why = "cannot be written" if self.path.is_dir() else "cannot be made"
            raise self._unusable(why, error) from error

    def _unusable(self, why: str, error: OSError) -> DataFolderError:
        read_only = error.errno == errno.EROFS
        advice = _READ_ONLY if read_only else "name another with --data-dir"
        return DataFolderError(f"the data folder {self.path} {why}: {error.strerror}; {advice}")

    def _check_whole(self) -> None:
        """Refuse to make new files where some of earlier data are left."""
        # In the order in which they are made: what is missing before a later one was lost.
        files = [self.data_keys, self.log, self.views]
        if self.own_master_key:
            files.insert(0, self.master_key)
        there = [file.exists() for file in files]
        for number, file in enumerate(files):
            if not there[number] and any(there[number:]):
                where = ""
                if file == self.master_key:
                    where = ", name it with master_key_file if it lies elsewhere"
                raise DataFolderError(
                    f"{file} is missing next to the other data; bring it back from its "
                    f"backup{where}, or name another folder with --data-dir"
                )
