"""The SQLite file that views are in: one thread at a time, and mended when it is damaged.

A damaged row or a lost table empties the tables of this generation; damaged pages replace the
file.  Either way the views are made again from the log.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import msgspec
from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.projections.projection import Projection
from cs.projections.sqlite.table_sets import FileTableSet
from cs.runtime.private_files import make_private
from cs.sqlite.database import connect, transaction

log = get_logger()

#: Pages of the file are damaged.
_DAMAGED_PAGES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
#: Our statements are constants: one that SQLite does not understand speaks of tables that
#: are gone.
_LOST_TABLES = {sqlite3.SQLITE_ERROR}


class ViewsEmptied(LogUnavailable):
    """The views were damaged, and are empty until the next page is applied."""

    def __init__(self) -> None:
        super().__init__("the views were damaged; they are made anew from the log")


class ViewFile:
    """The file at *path*, in memory without one, with the tables of *projections*.

    Raises:
        LogUnavailable: On making one: the file cannot be made or closed to others.
        sqlite3.OperationalError: On making one: it is in use, or the disk is full.
    """

    def __init__(
        self, path: Path | None, projections: Sequence[Projection], name: str | None = None
    ) -> None:
        self.tables = FileTableSet(projections, name)
        self._path = path
        self._lock = Lock()
        self._emptied = False
        try:
            self._database = self._opened()
        except sqlite3.OperationalError:
            raise  # locked, full or not ours: nothing is wrong with what is in it
        except sqlite3.DatabaseError as error:
            if path is None:
                raise
            log.warning("views_damaged", error=str(error))
            _remove(path)
            self._database = self._opened()

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @property
    def is_free(self) -> bool:
        """Whether no thread holds the file now."""
        return not self._lock.locked()

    @contextmanager
    def reading(self, *, emptied_is_known: bool = False) -> Iterator[sqlite3.Connection]:
        """Hold the file.

        Args:
            emptied_is_known: The caller goes by the checkpoint, so views that were emptied
                are no error any more.

        Raises:
            ViewsEmptied: They were found damaged, now or since the last page.
            LogUnavailable: The file cannot be used now.
        """
        with self._lock:
            if self._emptied and not emptied_is_known:
                raise ViewsEmptied
            self._emptied = False
            try:
                yield self._database
            except (sqlite3.Error, msgspec.MsgspecError) as error:
                mended = self._mended(error)
                self._emptied = isinstance(mended, ViewsEmptied) and not emptied_is_known
                raise mended from error

    @contextmanager
    def writing(self, *, emptied_is_known: bool = False) -> Iterator[sqlite3.Connection]:
        """Do as `reading`, in a transaction."""
        with self.reading(emptied_is_known=emptied_is_known) as database, transaction(database):
            yield database

    def _mended(self, error: sqlite3.Error | msgspec.MsgspecError) -> LogUnavailable:
        """Make anew what *error* says is damaged; return what to raise for it."""
        code = _code(error)
        row_damaged = isinstance(error, msgspec.MsgspecError)
        if row_damaged or code in _LOST_TABLES:
            log.warning("views_damaged", error=str(error))
            return self._empty_tables()
        if code in _DAMAGED_PAGES:
            log.warning("views_damaged", error=str(error))
            return self._replace_file()
        return LogUnavailable(f"the views cannot be used: {error}")

    def _empty_tables(self) -> LogUnavailable:
        try:
            with transaction(self._database):
                self.tables.make_anew(self._database)
        except sqlite3.Error as error:
            if _code(error) in _DAMAGED_PAGES | _LOST_TABLES:
                return self._replace_file()
            return LogUnavailable(f"the views cannot be used: {error}")
        return ViewsEmptied()

    def _replace_file(self) -> LogUnavailable:
        self._database.close()
        if self._path is not None:
            _remove(self._path)
        self._database = self._opened()
        return ViewsEmptied()

    def _opened(self) -> sqlite3.Connection:
        try:
            if self._path is not None:
                make_private(self._path)
        except OSError as error:
            raise LogUnavailable(f"the views cannot be used: {error.strerror}") from error
        # A lost view is made anew from the log, so its own commits need not be durable.
        database = connect(self._path, synchronous="NORMAL")
        try:
            with transaction(database):
                self.tables.make(database)
        except BaseException:
            database.close()
            raise
        return database


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):  # a write-ahead log must not be read into the new file
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _code(error: Exception) -> int:
    """Return SQLite's primary result code; 0 for anything else."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
