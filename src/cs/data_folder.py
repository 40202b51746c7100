"""The folder that holds everything an embedded service knows."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class DataFolderError(Exception):
    """The folder cannot be used; the message says why and what to do."""


class DataFolder:
    """Names of the files in *path*; makes the folder (0700) if it is missing.

    Raises:
        DataFolderError: It cannot be made or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise DataFolderError(
                f"the data folder {self.path} cannot be made: {error.strerror}; "
                "name another with --data-dir"
            ) from error
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise DataFolderError(
                f"the data folder {self.path} cannot be written; "
                "give this user the right to, or name another with --data-dir"
            )

    @property
    def log(self) -> Path:
        return self.path / "log.db"

    @property
    def views(self) -> Path:
        """Can be deleted: it is rebuilt from the log."""
        return self.path / "views.db"

    @property
    def data_keys(self) -> Path:
        """What opens the personal data in the log; never in the same backup."""
        return self.path / "keys.db"

    @property
    def master_key(self) -> Path:
        return self.path / "master.key"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other services off this folder.

        Raises:
            DataFolderError: One is running on it.
        """
        with (self.path / "lock").open("a+") as file:
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
