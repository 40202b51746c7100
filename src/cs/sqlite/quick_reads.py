"""Reads of a few rows of a SQLite file, made where they are wanted: on the event loop.

Such a read takes 4 to 10 µs, and a hop to a thread and back 50; nobody who writes is waited for
(SQLite's manual, "Write-Ahead Logging": readers do not block on writers).  What may block is a
disk, for pages that are not in memory.  So a few rows are read here at most, and whoever asks
has another way: a read that was slow ends them for a while.
"""

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

#: A read that took longer found a slow disk, or a machine with too much to do: threads of this
#: process keep the interpreter from each other for 5 ms (`sys.getswitchinterval`).
SLOW_S = 0.02
#: For how long nothing is read here after that, or after an error.
PAUSE_S = 1.0


class QuickReads:
    """Reads the file at *path*, on a connection of its own that cannot write.

    Any thread may `reopen` or `close` it, the event loop alone reads.

    Args:
        path: Of a file that is open elsewhere, in WAL mode; ``None``: there is none.
        now: Seconds that never step back.
    """

    def __init__(self, path: Path | None, now: Callable[[], float] = time.perf_counter) -> None:
        self._path = path
        self._now = now
        self._database: sqlite3.Connection | None = None
        self._not_before = 0.0
        # A connection that is closed while another thread reads by it ends the process.
        self._using = Lock()

    def rows(self, statement: str, values: Sequence[str | int | None]) -> list[Any] | None:
        """Return what *statement* finds, as of now; ``None``: read it another way."""
        began = self._now()
        if self._path is None or began < self._not_before:
            return None
        try:
            with self._using:
                database = self._database or self._opened(self._path)
                found = database.execute(statement, values).fetchall()
        except sqlite3.Error:  # whoever reads it the other way says what is wrong
            self.reopen()
            self._not_before = began + PAUSE_S
            return None
        ended = self._now()
        if ended - began > SLOW_S:
            self._not_before = ended + PAUSE_S
        return found

    def reopen(self) -> None:
        """Read from the file that is at the path now, another one perhaps."""
        with self._using:
            database, self._database = self._database, None
            if database is not None:
                with suppress(sqlite3.Error):
                    database.close()

    def close(self) -> None:
        """Read nothing more."""
        self._path = None
        self.reopen()

    def _opened(self, path: Path) -> sqlite3.Connection:
        self._database = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode=ro",
            uri=True,
            check_same_thread=False,
            isolation_level=None,
            timeout=0,
        )
        return self._database
