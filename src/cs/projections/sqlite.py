"""Views in a SQLite file, for one process.

Work on the file runs in a thread; a single row is read on the event loop while the thread
does not use the file, since a thread would cost ten times what SQLite takes for a row.

A file that is damaged is removed: the views are made again from the log.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from structlog import get_logger

from cs.eventlog.port import LogUnavailable
from cs.projections.builds import Build, BuildGone, Wait
from cs.projections.table import Projection
from cs.projections.views import BUILDS, GET, Views
from cs.runtime.coordination import Broadcast
from cs.runtime.sql import Rows, Work
from cs.sqlite.sql import SqliteDatabase, spelled

log = get_logger()

T = TypeVar("T")

#: How long a move is waited for that another process may make.
LOOK_S = 1.0

_DAMAGED_FILE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
#: Statements are constants: one that SQLite does not understand names a table that is gone.
_LOST_TABLE = sqlite3.SQLITE_ERROR


def sqlite_views(path: Path | None, projections: Sequence[Projection]) -> Views:
    """Return views in the file *path*, in memory without one.

    Raises:
        LogUnavailable: The file cannot be made or closed to others.
        sqlite3.OperationalError: It is in use, or the disk is full.
    """
    return Views(SqliteViewDatabase(path), projections)


class SqliteViewDatabase(SqliteDatabase):
    """`cs.projections.builds.ViewDatabase` on the file *path*, in memory without one."""

    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'view_*'"

    def __init__(self, path: Path | None) -> None:
        # A lost view is made again from the log, so its commits need not be durable.
        super().__init__(
            path,
            [spelled(BUILDS)],
            thread="views",
            unavailable=_unavailable,
            synchronous="NORMAL",
        )
        self._lock = Lock()  # held while the file is used
        self._moved = Broadcast()
        try:
            self.db.execute(self.tables)
        except OSError as error:
            raise _unavailable(error) from error
        except sqlite3.Error as error:
            self._without_damage(error)
            self.db.execute(self.tables)  # raises it again if there is no damage

    async def transact(self, work: Work[T]) -> T:
        done = await super().transact(work)
        self._moved.notify_all()
        return done

    async def row(self, build: Build, table: str, row_id: str) -> tuple[int, bytes | None]:
        await asyncio.sleep(0)  # a caller that reads in a loop lets others run
        sql, values = GET.format(table=table), (*build, row_id)
        here = not self._lock.locked()
        found = self._fetch_here(sql, values) if here else await self.fetch(sql, *values)
        if not found:
            raise BuildGone
        position, row = found[0]
        return position, row

    def _fetch_here(self, sql: str, values: Sequence[Any]) -> Rows:
        """Return the rows of *sql*, read in this thread."""
        try:
            return self._fetch(sql, values)
        except sqlite3.Error as error:
            raise _unavailable(error) from error

    def _fetch(self, sql: str, parameters: Sequence[Any]) -> Rows:
        with self._lock:
            try:
                return super()._fetch(sql, parameters)
            except sqlite3.Error as error:
                raise self._without_damage(error) from error

    def _transact_together(self, works: Sequence[Work[Any]]) -> list[Any | Exception]:
        with self._lock:
            return [self._without_damage(each) for each in super()._transact_together(works)]

    def _without_damage(self, answer: Any) -> Any:
        """Return *answer*, or `BuildGone` if the file is damaged, which is then removed."""
        if _code(answer) not in _DAMAGED_FILE:
            return answer
        log.warning("views_damaged", error=str(answer))
        self.remove()
        return BuildGone(f"the file of the views was damaged: {answer}")

    async def listen(self) -> Wait:
        moved = self._moved.upcoming()

        async def committed() -> None:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await moved.wait()

        return committed

    async def other_rights(
        self, build: Build, other: Build, names: Sequence[str]
    ) -> str | None:
        """Return ``None``: a user of the file may use all that is in it."""
        del build, other, names
        return None


def _unavailable(error: Exception) -> LogUnavailable:
    if _code(error) == _LOST_TABLE:
        return BuildGone(str(error))
    return LogUnavailable(f"the views cannot be used: {error}")


def _code(error: object) -> int:
    """Return SQLite's primary result code, 0 of anything else."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF
