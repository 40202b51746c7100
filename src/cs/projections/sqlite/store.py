"""A SQLite file of views: rows and checkpoint in one transaction, a page at a time.

The file can be lost without loss: when it turns out to be damaged it is made anew, the
checkpoint says 0, and whoever applies pages begins again with the log's first.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec
from structlog import get_logger

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.port import Recorded
from cs.projections.port import (
    TABLES,
    Changed,
    check_since,
    following_on,
    generation,
    named,
)
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows, Table
from cs.projections.set_aside import ASIDE, SET_ASIDE, Fold, TakeUp
from cs.runtime.private_files import make_private
from cs.sqlite.database import connect, transaction

log = get_logger()

R = TypeVar("R", bound=msgspec.Struct)

#: What means that the file is not ours any more.  Our statements are constants, so one
#: that SQLite does not understand (SQLITE_ERROR) speaks of tables that are gone.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


class ViewStore:
    """Synchronous, and safe to call from several threads (`cs.projections.sqlite.views`).

    A changed set of versions is another set of tables: views are rebuilt from the log,
    never migrated, and the old tables are dropped once the new ones are there.

    Raises:
        LogUnavailable: From every method: the file cannot be read or written now, or was
            damaged and is empty until the next page is applied.
    """

    def __init__(self, path: Path | None, projections: Sequence[Projection]) -> None:
        self._projections = projections
        self._lock = Lock()
        self._path = path
        self._emptied = False
        self._db = self._connect()
        self.generation = generation(projections)
        self._make()

    def _connect(self) -> sqlite3.Connection:
        try:
            if self._path is not None:
                make_private(self._path)
        except OSError as error:
            raise LogUnavailable(f"the views cannot be used: {error.strerror}") from error
        # A lost view is rebuilt from the log, so its own commits need not be durable.
        return connect(self._path, synchronous="NORMAL")

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def position(self) -> int:
        with self._held():
            return self._position()

    def last_event(self) -> str:
        with self._held():
            name: str = self._db.execute("SELECT last_event FROM checkpoint").fetchone()[0]
        return name

    def apply(self, page: Sequence[Recorded], seal: SealBody) -> int:
        with self._lock:
            self._emptied = False
            try:
                with transaction(self._db):
                    return self._apply(page, seal)
            except (sqlite3.Error, msgspec.MsgspecError) as error:
                failed = self._failed(error)
                if not self._emptied:
                    raise failed from error
                self._emptied = False  # the checkpoint tells it
                return 0

    def _apply(self, page: Sequence[Recorded], seal: SealBody) -> int:
        checkpoint = self._position()
        new = following_on(page, checkpoint)
        if not new:
            return checkpoint
        self._write(self._applied(new, seal))
        checkpoint = new[-1].position
        self._db.execute(
            "UPDATE checkpoint SET position = ?, last_event = ?", (checkpoint, named(new[-1]))
        )
        return checkpoint

    def take_up(self, late: TakeUp, seal: SealBody) -> bool:
        with self._held(), transaction(self._db):
            rows = Rows(self)
            taken = self._position() == late.checkpoint
            taken = taken and late.apply(self._projections, rows, seal)
            if taken:
                self._write(rows)
            return taken

    def ahead(self, newer: Sequence[Recorded], seal: SealBody) -> Changed:
        with self._held():
            checkpoint = self._position()
            check_since(checkpoint, newer[0].position - 1)
            rows = self._applied(following_on(newer, checkpoint), seal)
            return {(table, row_id): data for table, row_id, _, data in rows.changes()}

    def get(self, table: Table[R], row_id: str, since: int = 0) -> R | None:
        with self._held():
            position, data = self._db.execute(
                _GET.format(table=table.name), (row_id,)
            ).fetchone()
            check_since(position, since)
            return table.decode(data) if data is not None else None

    def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        with self._held():
            check_since(self._position(), since)
            found = self._db.execute(_TAGGED.format(table=table.name), (tag,)).fetchall()
            return [(row_id, table.decode(data)) for row_id, data in found]

    def ids_tagged(
        self, table: Table[R], tags: Sequence[str], since: int = 0, limit: int | None = None
    ) -> list[tuple[str, str]]:
        with self._held():
            check_since(self._position(), since)
            listed = msgspec.json.encode(tags).decode()
            statement = _IDS_TAGGED.format(table=table.name)
            most = _ALL_ROWS if limit is None else limit
            return self._db.execute(statement, (listed, most)).fetchall()

    def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        with self._held():
            check_since(self._position(), since)
            statement = _TAGS.format(table=table.name)
            return self._db.execute(statement, (after, limit)).fetchall()

    def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        with self._held():
            check_since(self._position(), since)
            found = self._db.execute(_ALL.format(table=table.name)).fetchall()
            return [(row_id, table.decode(data)) for row_id, data in found]

    def row(self, table: str, row_id: str) -> bytes | None:
        found = self._db.execute(_ROW.format(table=table), (row_id,)).fetchone()
        return None if found is None else found[0]

    def reset(self) -> None:
        with self._held():
            with transaction(self._db):
                for table in TABLES:
                    self._db.execute(f"DROP TABLE IF EXISTS {table}")
                self._db.execute("DROP TABLE IF EXISTS checkpoint")
            self._make()

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the file; what is wrong with it becomes `LogUnavailable`."""
        with self._lock:
            if self._emptied:
                raise LogUnavailable(_EMPTIED)
            try:
                yield
            except (sqlite3.Error, msgspec.MsgspecError) as error:
                raise self._failed(error) from error

    def _failed(self, error: sqlite3.Error | msgspec.MsgspecError) -> LogUnavailable:
        """Return what to raise for *error*; the file is made anew if it is damaged."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code not in _DAMAGE and not isinstance(error, msgspec.MsgspecError):
            return LogUnavailable(f"the views cannot be used: {error}")
        log.warning("views_damaged", error=str(error))
        self._db.close()
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):
                self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._db = self._connect()
        self._make()
        self._emptied = True
        return LogUnavailable(_EMPTIED)

    def _applied(self, new: Sequence[Recorded], seal: SealBody) -> Rows:
        tagged = self._db.execute(_TAGGED.format(table=ASIDE.name), (SET_ASIDE,)).fetchall()
        fold = Fold(self._projections, seal, [row_id for row_id, _ in tagged])
        return fold.rows(lambda: Rows(self), new)

    def _write(self, rows: Rows) -> None:
        for table, row_id, tag, data in rows.changes():
            self._db.execute(_UPSERT.format(table=table), (row_id, tag, data))

    def _position(self) -> int:
        position: int = self._db.execute("SELECT position FROM checkpoint").fetchone()[0]
        return position

    def _make(self) -> None:
        with transaction(self._db):
            columns = self._db.execute("SELECT name FROM pragma_table_info('checkpoint')")
            if ("last_event",) not in columns.fetchall():
                self._db.execute("DROP TABLE IF EXISTS checkpoint")  # of an older version
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS checkpoint (generation TEXT NOT NULL, "
                "position INTEGER NOT NULL, last_event TEXT NOT NULL)"
            )
            found = self._db.execute("SELECT generation FROM checkpoint").fetchone()
            if found is None or found[0] != self.generation:
                for table in TABLES:
                    self._db.execute(f"DROP TABLE IF EXISTS {table}")
                self._db.execute("DELETE FROM checkpoint")
                self._db.execute("INSERT INTO checkpoint VALUES (?, 0, '')", (self.generation,))
            for table in TABLES:
                self._db.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} "
                    "(id TEXT PRIMARY KEY, tag TEXT, row BLOB NOT NULL) WITHOUT ROWID"
                )
                self._db.execute(
                    f"CREATE INDEX IF NOT EXISTS {table}_tag ON {table} (tag) "
                    "WHERE tag IS NOT NULL"
                )


_EMPTIED = "the views were damaged; they are made anew from the log"

_ROW = "SELECT row FROM {table} WHERE id = ?"
_GET = "SELECT position, row FROM checkpoint LEFT JOIN {table} ON id = ?"
_TAGGED = "SELECT id, row FROM {table} WHERE tag = ? ORDER BY id"
_IDS_TAGGED = (
    "SELECT id, tag FROM {table} WHERE tag IN (SELECT value FROM json_each(?)) "
    "AND tag IS NOT NULL LIMIT ?"
)
_ALL_ROWS = -1  # as a limit, to SQLite
_TAGS = "SELECT id, tag FROM {table} WHERE id > ? AND tag IS NOT NULL ORDER BY id LIMIT ?"
_ALL = "SELECT id, row FROM {table} ORDER BY id"
_UPSERT = (
    "INSERT INTO {table} VALUES (?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row"
)
