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
from cs.eventlog.port import RecordedEvent
from cs.projections.generation import (
    NO_COPIES,
    Copies,
    Generation,
    after_copies,
    generation,
    table_names,
    table_prefix,
    to_copy_from,
    unchanged,
)
from cs.projections.port import Changed, check_since, following_on, named
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows, Table
from cs.projections.set_aside import ASIDE, SET_ASIDE, Fold, TakeUp
from cs.projections.sqlite.legacy import COLUMNS, LEGACY, drop_legacy, legacy_checkpoint
from cs.runtime.private_files import make_private
from cs.sqlite.database import connect, transaction

log = get_logger()

R = TypeVar("R", bound=msgspec.Struct)

#: What means that the file is not ours any more.  Our statements are constants, so one
#: that SQLite does not understand (SQLITE_ERROR) speaks of tables that are gone.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


class ViewStore:
    """Synchronous, and safe to call from several threads (`cs.projections.sqlite.views`).

    Each generation (`cs.projections.generation`) has tables of its own in the file, so that
    a process of another version goes on reading its own meanwhile.  Views are never migrated.

    Raises:
        LogUnavailable: From every method: the file cannot be read or written now, or was
            damaged and is empty until the next page is applied.
    """

    def __init__(self, path: Path | None, projections: Sequence[Projection]) -> None:
        self._projections = projections
        self._names = table_names(projections)
        self._lock = Lock()
        self._path = path
        self._emptied = False
        self._db = self._connect()
        self.generation = generation(projections)
        self._prefix = table_prefix(self.generation)
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
            _, last_event = self._checkpoint()
        return last_event

    def apply(self, page: Sequence[RecordedEvent], seal: SealBody) -> int:
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

    def _apply(self, page: Sequence[RecordedEvent], seal: SealBody) -> int:
        checkpoint = self._position()
        new = following_on(page, checkpoint)
        if not new:
            return checkpoint
        self._write(self._applied(new, seal))
        checkpoint = new[-1].position
        self._db.execute(_MOVE, (checkpoint, named(new[-1]), self.generation))
        return checkpoint

    def take_up(self, late: TakeUp, seal: SealBody) -> bool:
        with self._held(), transaction(self._db):
            rows = Rows(self)
            taken = self._position() == late.checkpoint
            taken = taken and late.apply(self._after_copies(), rows, seal)
            if taken:
                self._write(rows)
            return taken

    def ahead(self, newer: Sequence[RecordedEvent], seal: SealBody) -> Changed:
        with self._held():
            checkpoint = self._position()
            check_since(checkpoint, newer[0].position - 1)
            rows = self._applied(following_on(newer, checkpoint), seal)
            return {(table, row_id): data for table, row_id, _, data in rows.changes()}

    def get(self, table: Table[R], row_id: str, since: int = 0) -> R | None:
        with self._held():
            statement = _GET.format(table=self._table(table.name))
            found = self._db.execute(statement, (row_id, self.generation)).fetchone()
            if found is None:
                raise _no_checkpoint()
            position, data = found
            check_since(position, since)
            return table.decode(data) if data is not None else None

    def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        with self._held():
            check_since(self._position(), since)
            found = self._db.execute(
                _TAGGED.format(table=self._table(table.name)), (tag,)
            ).fetchall()
            return [(row_id, table.decode(data)) for row_id, data in found]

    def ids_tagged(
        self, table: Table[R], tags: Sequence[str], since: int = 0, limit: int | None = None
    ) -> list[tuple[str, str]]:
        with self._held():
            check_since(self._position(), since)
            listed = msgspec.json.encode(tags).decode()
            statement = _IDS_TAGGED.format(table=self._table(table.name))
            most = _ALL_ROWS if limit is None else limit
            return self._db.execute(statement, (listed, most)).fetchall()

    def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        with self._held():
            check_since(self._position(), since)
            statement = _TAGS.format(table=self._table(table.name))
            return self._db.execute(statement, (after, limit)).fetchall()

    def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        with self._held():
            check_since(self._position(), since)
            found = self._db.execute(_ALL.format(table=self._table(table.name))).fetchall()
            return [(row_id, table.decode(data)) for row_id, data in found]

    def row(self, table: str, row_id: str) -> bytes | None:
        found = self._db.execute(_ROW.format(table=self._table(table)), (row_id,)).fetchone()
        return None if found is None else found[0]

    def reset(self) -> None:
        with self._held(), transaction(self._db):
            self._begin()

    def others(self) -> list[Generation]:
        with self._held():
            found = self._db.execute(_OTHERS, (self.generation, LEGACY)).fetchall()
            others = [Generation(*row) for row in found]
            legacy = legacy_checkpoint(self._db)
            return to_copy_from(self._projections, [*others, *([legacy] if legacy else [])])

    def copy_from(self, other: Generation) -> Copies:
        try:
            with self._held(), transaction(self._db):
                if self._position() or self._copies().projections:
                    return NO_COPIES
                return self._copy(other.name)
        except LogUnavailable:
            with self._lock:
                if not self._emptied:
                    raise
                self._emptied = False  # the checkpoint tells it
            return NO_COPIES

    def copies(self) -> Copies:
        with self._held():
            return self._copies()

    def retire(self, grace_s: float) -> list[str]:
        """Drop the tables of other generations that nobody used for *grace_s*."""
        with self._held(), transaction(self._db):
            unused = self._db.execute(_UNUSED, (self.generation, grace_s)).fetchall()
            for (name,) in unused:
                if name == LEGACY:
                    drop_legacy(self._db)
                else:
                    self._drop(table_prefix(name))
                self._db.execute("DELETE FROM view_copies WHERE generation = ?", (name,))
                self._db.execute("DELETE FROM view_sets WHERE generation = ?", (name,))
            return [name for (name,) in unused]

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

    def _applied(self, new: Sequence[RecordedEvent], seal: SealBody) -> Rows:
        tagged = self._db.execute(
            _TAGGED.format(table=self._table(ASIDE.name)), (SET_ASIDE,)
        ).fetchall()
        fold = Fold(self._after_copies(), seal, [row_id for row_id, _ in tagged])
        return fold.rows(lambda: Rows(self), new)

    def _write(self, rows: Rows) -> None:
        for table, row_id, tag, data in rows.changes():
            self._db.execute(_UPSERT.format(table=self._table(table)), (row_id, tag, data))

    def _table(self, name: str) -> str:
        return f"{self._prefix}_{name}"

    def _position(self) -> int:
        position, _ = self._checkpoint()
        return position

    def _checkpoint(self) -> tuple[int, str]:
        """Return the position of the last event applied, and which event that is."""
        found = self._db.execute(_CHECKPOINT, (self.generation,)).fetchone()
        if found is None:
            raise _no_checkpoint()
        position, last_event = found
        return position, last_event

    def _copies(self) -> Copies:
        found = self._db.execute(_COPIES, (self.generation,)).fetchone()
        if found is None:
            return NO_COPIES
        names, position, last_event = found
        return Copies(names.split(), position, last_event)

    def _after_copies(self) -> Sequence[Projection]:
        return after_copies(self._projections, self._copies())

    # The tables.

    def _make(self) -> None:
        """Make the tables that are missing, and note that they are used."""
        with transaction(self._db):
            for statement in _SETS:
                self._db.execute(statement)
            legacy = legacy_checkpoint(self._db)
            if legacy is not None:
                self._db.execute(_NOTE_LEGACY, (LEGACY, legacy.position))
            entered = self._db.execute(_ENTER, (self.generation,)).rowcount
            if not entered and self._are_there():
                self._db.execute(_USED, (self.generation,))
                return
            self._begin()

    def _are_there(self) -> bool:
        return all(self._columns(self._table(name)) == COLUMNS for name in self._names)

    def _columns(self, table: str) -> Sequence[str]:
        found = self._db.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return [name for (name,) in found]

    def _begin(self) -> None:
        """Make all tables anew, empty."""
        self._drop(self._prefix)
        for name in self._names:
            table = self._table(name)
            self._db.execute(
                f"CREATE TABLE {table} "
                "(id TEXT PRIMARY KEY, tag TEXT, row BLOB NOT NULL) WITHOUT ROWID"
            )
            self._db.execute(f"CREATE INDEX {table}_tag ON {table} (tag) WHERE tag IS NOT NULL")
        self._db.execute("DELETE FROM view_copies WHERE generation = ?", (self.generation,))
        self._db.execute(_MOVE, (0, "", self.generation))

    def _drop(self, prefix: str) -> None:
        for (table,) in self._db.execute(_TABLES_OF, (f"{prefix}_*",)).fetchall():
            self._db.execute(f"DROP TABLE {table}")

    def _copy(self, name: str) -> Copies:
        """Copy what generation *name* has of unchanged projections into empty tables."""
        legacy = legacy_checkpoint(self._db)
        if legacy is not None and legacy.name == name:
            prefix, position, last_event, rest = "", legacy.position, legacy.last_event, 0
        else:
            found = self._db.execute(_SOURCE, (name,)).fetchone()
            if found is None:
                return NO_COPIES
            position, last_event, rest = found
            prefix = f"{table_prefix(name)}_"
        copied = unchanged(self._projections, name)
        tables = [table.name for projection in copied for table in projection.tables]
        there = [self._columns(f"{prefix}{table}") for table in (*tables, ASIDE.name)]
        if any(columns != COLUMNS for columns in there) or position < max(rest, 1):
            return NO_COPIES
        aside = _TAGGED.format(table=f"{prefix}{ASIDE.name}")
        if self._db.execute(aside, (SET_ASIDE,)).fetchone() is not None:
            return NO_COPIES
        for table in tables:
            self._db.execute(
                f"INSERT INTO {self._table(table)} SELECT id, tag, row FROM {prefix}{table}"  # noqa: S608
            )
        names = [projection.name for projection in copied]
        if len(copied) == len(self._projections):
            self._db.execute(_MOVE, (position, last_event, self.generation))
        else:
            values = (self.generation, " ".join(names), position, last_event)
            self._db.execute("INSERT INTO view_copies VALUES (?, ?, ?, ?)", values)
        return Copies(names, position, last_event)


def _no_checkpoint() -> sqlite3.Error:
    """Return what SQLite raises for a table that is gone."""
    error = sqlite3.OperationalError("the checkpoint of these views is gone")
    error.sqlite_errorcode = sqlite3.SQLITE_ERROR
    return error


_EMPTIED = "the views were damaged; they are made anew from the log"

_ROW = "SELECT row FROM {table} WHERE id = ?"
_GET = "SELECT position, row FROM view_sets LEFT JOIN {table} ON id = ? WHERE generation = ?"
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

_SETS = (
    """
    CREATE TABLE IF NOT EXISTS view_sets (
        generation TEXT PRIMARY KEY,
        position INTEGER NOT NULL,
        last_event TEXT NOT NULL,
        used_at INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS view_copies (
        generation TEXT PRIMARY KEY,
        projections TEXT NOT NULL,
        position INTEGER NOT NULL,
        last_event TEXT NOT NULL
    )
    """,
)
_NOW = "CAST(strftime('%s', 'now') AS INTEGER)"
_ENTER = f"INSERT INTO view_sets VALUES (?, 0, '', {_NOW}) ON CONFLICT DO NOTHING"  # noqa: S608
_USED = f"UPDATE view_sets SET used_at = {_NOW} WHERE generation = ?"  # noqa: S608
#: Tables of before are in use as long as their checkpoint moves.
_NOTE_LEGACY = (
    f"INSERT INTO view_sets VALUES (?, ?, '', {_NOW}) ON CONFLICT DO UPDATE "  # noqa: S608
    "SET position = excluded.position, used_at = excluded.used_at "
    "WHERE position <> excluded.position"
)
_MOVE = (
    f"UPDATE view_sets SET position = ?, last_event = ?, used_at = {_NOW} "  # noqa: S608
    "WHERE generation = ?"
)
_CHECKPOINT = "SELECT position, last_event FROM view_sets WHERE generation = ?"
_COPIES = "SELECT projections, position, last_event FROM view_copies WHERE generation = ?"
_OTHERS = (
    "SELECT generation, position, last_event FROM view_sets WHERE generation NOT IN (?, ?)"
)
_SOURCE = (
    "SELECT s.position, s.last_event, COALESCE(c.position, 0) FROM view_sets AS s "
    "LEFT JOIN view_copies AS c USING (generation) WHERE generation = ?"
)
_UNUSED = f"SELECT generation FROM view_sets WHERE generation <> ? AND used_at < {_NOW} - ?"  # noqa: S608
_TABLES_OF = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
