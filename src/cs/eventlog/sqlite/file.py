"""The file of a log: whether it is still the one that was opened."""

import os
from pathlib import Path

from cs.eventlog.errors import LogUnavailable
from cs.runtime.private_files import make_private

#: Bytes of SQLite's smallest page; a file has at least one.
_SMALLEST = 512


class LogFile:
    """Knows the file that was opened from another one under its name.

    SQLite goes on writing to files that were deleted or replaced under it.  What it says
    is stored then is gone with the last process that has them open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self._files = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        self._opened: list[tuple[int, int]] = []

    @property
    def uri(self) -> str:
        """The path for SQLite, which takes ``?``, ``#`` and ``%`` in a bare one for its own."""
        return self._path.as_uri()

    def check_not_emptied(self) -> None:
        """Raise if there is a file with next to nothing in it: SQLite would begin anew in it.

        Raises:
            LogUnavailable: It is.
        """
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        if size < _SMALLEST:
            raise LogUnavailable(
                f"{self._path} holds {size} bytes, fewer than any log; bring it back from a "
                "backup, or delete it if there never was anything in it"
            )

    def make_private(self) -> None:
        """Make the file if it is missing; only its owner may read it, and so what SQLite adds.

        Raises:
            OSError: It cannot be made, or is another user's.
        """
        make_private(self._path)

    def opened(self) -> None:
        """Remember the files as they are now; the log keeps them open from here on."""
        self._opened = [self._identity(file) for file in self._files]

    def check(self) -> None:
        """Raise unless the files are those that were opened.

        Raises:
            LogUnavailable: One was deleted or replaced.
        """
        for file, opened in zip(self._files, self._opened, strict=False):
            try:
                same = self._identity(file) == opened
            except FileNotFoundError:
                same = False
            if not same:
                raise LogUnavailable(
                    f"{file} was deleted or replaced while it was in use; stop every process "
                    "that uses it, bring the file back and start again"
                )

    @staticmethod
    def _identity(file: Path) -> tuple[int, int]:
        found = os.stat(file)  # noqa: PTH116  several times an append; Path's costs more
        return found.st_dev, found.st_ino
