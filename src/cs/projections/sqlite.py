"""Views in a SQLite file, for one process.

Work on the file runs in a thread, one at a time; a single row is read on the event loop while
no thread holds the file, since a thread would cost ten times what SQLite takes for a row.

A file that is damaged is removed: the views are made again from the log.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import msgspec
from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.projections.builds import Build
from cs.projections.port import BuildGone, Session
from cs.projections.projection import Projection
from cs.projections.rows import ChangedRow
from cs.projections.views import BUILDS, GRACE_S, Views
from cs.runtime.coordination import Broadcast
from cs.runtime.private_files import make_private
from cs.sqlite.database import connect, transaction

log = get_logger()

T = TypeVar("T")

#: How long a move is waited for that another process may make.
LOOK_S = 1.0

_DAMAGED_FILE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
#: Statements are constants: one that SQLite does not understand names a table that is gone.
_LOST_TABLE = sqlite3.SQLITE_ERROR
#: What SQLite spells otherwise than PostgreSQL, or does not need.
_SPELLINGS = (
    (" = ANY(", " IN (SELECT value FROM json_each("),
    ("::text[])", "))"),
    (' COLLATE "C"', ""),
    ("BYTEA", "BLOB"),
    ("TIMESTAMPTZ", "INTEGER"),
    ("now()", "CAST(strftime('%s', 'now') AS INTEGER)"),
    (" * interval '1 second'", ""),
    (", set_config('synchronous_commit', 'off', true)", ""),
    (" FOR UPDATE", ""),
    ("RETURNING pg_notify('cs_views', $6)", ""),
)


def sqlite_views(
    path: Path | None, projections: Sequence[Projection], *, grace_s: float = GRACE_S
) -> Views:
    """Return views in the file *path*, in memory without one.

    Raises:
        LogUnavailable: The file cannot be made or closed to others.
        sqlite3.OperationalError: It is in use, or the disk is full.
    """
    return Views(SqliteViewDatabase(path), projections, grace_s=grace_s)


class _FileSession:
    """`cs.projections.port.Session`, with the file held by the calling thread."""

    in_thread = True

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    async def fetch(self, statement: str, *values: object) -> Sequence[Any]:
        return _execute(self._database, statement, values).fetchall()

    async def write(self, build: Build, changes: Iterable[ChangedRow]) -> None:
        changed: dict[str, list[tuple[str, str | None, bytes]]] = {}
        for table, row_id, tag, data in changes:
            changed.setdefault(table, []).append((row_id, tag, data))
        for table, rows in changed.items():
            self._database.executemany(_WRITE.format(table=build.table(table)), sorted(rows))

    async def lock(self) -> None:
        """Pass: a transaction that writes has the file for itself."""

    async def tables(self) -> set[str]:
        return {name for (name,) in self._database.execute(_TABLES)}

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        """Return ``None``: a user of the file may use all that is in it."""
        del build, other, names
        return None


class SqliteViewDatabase:
    """`cs.projections.port.ViewDatabase` on the file *path*, in memory without one."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = Lock()
        self._moved = Broadcast()
        try:
            self._database = self._open()
        except sqlite3.OperationalError:
            raise  # locked, full or not ours: nothing is wrong with what is in it
        except sqlite3.DatabaseError as error:
            self._remove(error)
            self._database = self._open()

    async def run(self, work: Callable[[Session], Awaitable[T]], *, writing: bool = False) -> T:
        result = await asyncio.to_thread(self._run, work, writing)
        if writing:
            self._moved.notify_all()
        return result

    def _run(self, work: Callable[[Session], Awaitable[T]], writing: bool) -> T:
        with self._held() as database:
            if writing:
                with transaction(database):
                    return _completed(work(_FileSession(database)))
            database.execute("BEGIN")  # what it reads stays as it was
            try:
                return _completed(work(_FileSession(database)))
            finally:
                database.execute("ROLLBACK")

    async def fetch(self, statement: str, *values: object) -> Sequence[Any]:
        return await asyncio.to_thread(self._fetch, statement, values)

    def _fetch(self, statement: str, values: Sequence[object]) -> list[Any]:
        with self._held() as database:
            return _execute(database, statement, values).fetchall()

    async def row(self, build: Build, table: str, row_id: str) -> tuple[int, bytes | None]:
        await asyncio.sleep(0)  # a caller that reads in a loop lets others run
        if not self._lock.locked():
            return self._row(build, table, row_id)
        return await asyncio.to_thread(self._row, build, table, row_id)

    def _row(self, build: Build, table: str, row_id: str) -> tuple[int, bytes | None]:
        with self._held() as database:
            found = database.execute(_get(table), (row_id, *build)).fetchone()
        if found is None:
            raise BuildGone
        position, row = found
        return position, row

    async def moved(self, look: Callable[[], Awaitable[int]], after: int, build: str) -> int:
        del build  # there are no notices of others
        moved = self._moved.upcoming()
        position = await look()
        if position > after:
            return position
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_S):
                await moved.wait()
        return await look()

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        with self._lock:
            self._database.close()

    @contextmanager
    def _held(self) -> Iterator[sqlite3.Connection]:
        """Hold the file, and replace it if it turns out to be damaged."""
        with self._lock:
            try:
                yield self._database
            except sqlite3.Error as error:
                code = int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
                if code in _DAMAGED_FILE:
                    self._database.close()
                    self._remove(error)
                    self._database = self._open()
                    raise BuildGone(f"the file of the views was damaged: {error}") from error
                if code == _LOST_TABLE:
                    raise BuildGone(str(error)) from error
                raise LogUnavailable(f"the views cannot be used: {error}") from error

    def _open(self) -> sqlite3.Connection:
        try:
            if self._path is not None:
                make_private(self._path)
        except OSError as error:
            raise LogUnavailable(f"the views cannot be used: {error.strerror}") from error
        # A lost view is made again from the log, so its own commits need not be durable.
        database = connect(self._path, synchronous="NORMAL")
        try:
            with transaction(database):
                database.execute(_spelled(BUILDS))
        except BaseException:
            database.close()
            raise
        return database

    def _remove(self, error: sqlite3.Error) -> None:
        log.warning("views_damaged", error=str(error))
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):  # a log must not be read into the new file
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)


def _completed(work: Awaitable[T]) -> T:
    """Run *work*, which waits for nothing but the file, to its end in this thread."""
    try:
        work.__await__().__next__()
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("work on a SQLite file waited for something else")


def _execute(
    database: sqlite3.Connection, statement: str, values: Sequence[object]
) -> sqlite3.Cursor:
    bound = {
        str(number): msgspec.json.encode(value).decode() if isinstance(value, list) else value
        for number, value in enumerate(values, 1)
    }
    return database.execute(_spelled(statement), bound)


@lru_cache(512)
def _spelled(statement: str) -> str:
    """Return *statement*, written for PostgreSQL, as SQLite takes it."""
    for ours, theirs in _SPELLINGS:
        statement = statement.replace(ours, theirs)
    return statement


@lru_cache(64)
def _get(table: str) -> str:
    return _GET.format(table=table)


_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'view_*'"
_GET = """
SELECT position, row FROM view_builds LEFT JOIN {table} ON id = ?
WHERE version = ? AND build = ?
"""
_WRITE = """
INSERT INTO {table} VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row
"""
