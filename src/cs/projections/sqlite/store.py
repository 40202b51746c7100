"""Rows of views in a SQLite file, written with their checkpoint, a page at a time.

The file can be lost without loss: when what is in it turns out to be damaged it is made
anew, the checkpoint says 0, and whoever applies pages begins again with the log's first.
"""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from cs.eventlog.port import RecordedEvent
from cs.projections.anew import StoredRow
from cs.projections.generation import NO_COPIES, CopiedRows, Generation, after_copies
from cs.projections.port import Changed, check_since, following_on, named
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows, Table
from cs.projections.set_aside import ASIDE, SET_ASIDE, Fold, TakeUp
from cs.projections.sqlite.file import ViewFile, ViewsEmptied
from cs.projections.sqlite.table_sets import FileTableSet, no_checkpoint

R = TypeVar("R", bound=msgspec.Struct)


class ViewStore:
    """Synchronous, and safe to call from several threads (`cs.projections.sqlite.views`).

    Raises:
        LogUnavailable: From every method: the file cannot be read or written now, or was
            damaged and is empty until the next page is applied.
    """

    def __init__(
        self, path: Path | None, projections: Sequence[Projection], name: str | None = None
    ) -> None:
        self._projections = projections
        self._file = ViewFile(path, projections, name)
        self._tables = self._file.tables

    def close(self) -> None:
        self._file.close()

    @property
    def is_free(self) -> bool:
        """Whether reading a row waits for no thread."""
        return self._file.is_free

    # Writing.

    def apply(self, page: Sequence[RecordedEvent], seal: SealBody) -> int:
        try:
            with self._file.writing(emptied_is_known=True) as database:
                return self._apply(database, page, seal)
        except ViewsEmptied:
            return 0

    def _apply(
        self, database: sqlite3.Connection, page: Sequence[RecordedEvent], seal: SealBody
    ) -> int:
        checkpoint, _ = self._tables.checkpoint(database)
        new = following_on(page, checkpoint)
        if not new:
            return checkpoint
        self._write(database, self._applied(database, new, seal))
        checkpoint = new[-1].position
        self._tables.move(database, checkpoint, named(new[-1]))
        return checkpoint

    def take_up(self, late: TakeUp, seal: SealBody) -> bool:
        with self._file.writing() as database:
            position, _ = self._tables.checkpoint(database)
            if position != late.checkpoint:
                return False
            rows = self._rows(database)
            if not late.apply(self._after_copies(database), rows, seal):
                return False
            self._write(database, rows)
            return True

    def ahead(self, newer: Sequence[RecordedEvent], seal: SealBody) -> Changed:
        with self._file.reading() as database:
            checkpoint, _ = self._tables.checkpoint(database)
            check_since(checkpoint, newer[0].position - 1)
            rows = self._applied(database, following_on(newer, checkpoint), seal)
            return {(table, row_id): data for table, row_id, _, data in rows.changes()}

    def _applied(
        self, database: sqlite3.Connection, new: Sequence[RecordedEvent], seal: SealBody
    ) -> Rows:
        statement = _TAGGED.format(table=self._stored_as(ASIDE))
        tagged = database.execute(statement, (SET_ASIDE,)).fetchall()
        set_aside = [row_id for row_id, _ in tagged]
        fold = Fold(self._after_copies(database), seal, set_aside)
        return fold.rows(lambda: self._rows(database), new)

    def _after_copies(self, database: sqlite3.Connection) -> Sequence[Projection]:
        return after_copies(self._projections, self._tables.copies(database))

    def _rows(self, database: sqlite3.Connection) -> Rows:
        return Rows(_StoredRows(database, self._tables.names.table))

    def _write(self, database: sqlite3.Connection, rows: Rows) -> None:
        changed: dict[str, list[tuple[str, str | None, bytes]]] = {}
        for table, row_id, tag, data in rows.changes():
            changed.setdefault(table, []).append((row_id, tag, data))
        for table, written in changed.items():
            statement = _UPSERT.format(table=self._tables.names.table(table))
            database.executemany(statement, sorted(written))

    # Reading.

    def position(self) -> int:
        with self._file.reading() as database:
            position, _ = self._tables.checkpoint(database)
            return position

    def edition(self) -> int:
        with self._file.reading() as database:
            return self._tables.edition(database)

    def last_event(self) -> str:
        with self._file.reading() as database:
            _, last_event = self._tables.checkpoint(database)
            return last_event

    def get_at(self, table: Table[R], row_id: str) -> tuple[int, R | None]:
        with self._file.reading() as database:
            statement = _GET.format(table=self._stored_as(table))
            values = (row_id, self._tables.names.generation)
            found = database.execute(statement, values).fetchone()
            if found is None:
                raise no_checkpoint()
            position, data = found
            return position, table.decode(data) if data is not None else None

    def tagged(self, table: Table[R], tag: str, since: int = 0) -> list[tuple[str, R]]:
        with self._file.reading() as database:
            self._check_since(database, since)
            statement = _TAGGED.format(table=self._stored_as(table))
            found = database.execute(statement, (tag,)).fetchall()
            return [(row_id, table.decode(data)) for row_id, data in found]

    def ids_tagged(
        self, table: Table[R], tags: Sequence[str], since: int = 0, limit: int | None = None
    ) -> list[tuple[str, str]]:
        with self._file.reading() as database:
            self._check_since(database, since)
            statement = _IDS_TAGGED.format(table=self._stored_as(table))
            listed = msgspec.json.encode(tags).decode()
            return database.execute(
                statement, (listed, _ALL_ROWS if limit is None else limit)
            ).fetchall()

    def tags(
        self, table: Table[R], after: str, limit: int, since: int = 0
    ) -> list[tuple[str, str]]:
        with self._file.reading() as database:
            self._check_since(database, since)
            statement = _TAGS.format(table=self._stored_as(table))
            return database.execute(statement, (after, limit)).fetchall()

    def all(self, table: Table[R], since: int = 0) -> list[tuple[str, R]]:
        with self._file.reading() as database:
            self._check_since(database, since)
            found = database.execute(_ALL.format(table=self._stored_as(table))).fetchall()
            return [(row_id, table.decode(data)) for row_id, data in found]

    def _check_since(self, database: sqlite3.Connection, since: int) -> None:
        position, _ = self._tables.checkpoint(database)
        check_since(position, since)

    def _stored_as(self, table: Table[R]) -> str:
        return self._tables.names.table(table.name)

    # Generations.

    def reset(self) -> None:
        with self._file.writing() as database:
            self._tables.make_anew(database)

    def others(self) -> list[Generation]:
        with self._file.reading() as database:
            return self._tables.others(database)

    def copy_from(self, other: Generation) -> CopiedRows:
        try:
            with self._file.writing(emptied_is_known=True) as database:
                return self._tables.copy_from(database, other.name)
        except ViewsEmptied:
            return NO_COPIES

    def copies(self) -> CopiedRows:
        with self._file.reading() as database:
            return self._tables.copies(database)

    def retire(self, grace_s: float) -> Sequence[str]:
        """Drop the tables of other generations that nobody used for *grace_s*."""
        with self._file.writing() as database:
            return self._tables.retire_others(database, grace_s)

    # Tables that are made anew beside those of *running*.

    def take_place(
        self, running: FileTableSet, page: Sequence[RecordedEvent], seal: SealBody
    ) -> bool:
        """Exchange these rows with those of *running*, if *page* brings them to its checkpoint.

        Returns:
            Whether that was done; else the running ones are as they were.
        """
        with self._file.writing() as database:
            checkpoint, _ = running.checkpoint(database)
            missing = [each for each in page if each.position <= checkpoint]
            if self._apply(database, missing, seal) != checkpoint:
                return False
            running.exchange(database, self._tables)
            return True

    def page_of(self, table: str, after: str, limit: int) -> Sequence[StoredRow]:
        """Return up to *limit* rows of *table* with an id after *after*, by id."""
        with self._file.reading() as database:
            return rows_page(database, self._tables.names.table(table), after, limit)

    def anew_beside(self, running: FileTableSet) -> Sequence[str]:
        """Return the names of all that is made anew beside *running*, or was begun to be."""
        with self._file.reading() as database:
            return running.anew(database)

    def drop(self) -> None:
        """Drop these tables, a part at a time: nobody who writes waits long."""
        for table in self._tables.names.tables:
            gone = True
            while gone:
                with self._file.writing() as database:
                    gone = (
                        database.execute(_DELETE.format(table=table), (_AT_ONCE,)).rowcount > 0
                    )
        with self._file.writing() as database:
            self._tables.drop(database)


def rows_page(
    database: sqlite3.Connection, table: str, after: str, limit: int
) -> Sequence[StoredRow]:
    statement = _PAGE.format(table=table)
    return [StoredRow(*row) for row in database.execute(statement, (after, limit)).fetchall()]


class _StoredRows:
    """Rows as they are stored (`cs.projections.rows.Below`)."""

    def __init__(self, database: sqlite3.Connection, stored_as: Callable[[str], str]) -> None:
        self._cursor = database.cursor()
        self._stored_as = stored_as
        self._statements: dict[str, str] = {}

    def row(self, table: str, row_id: str) -> bytes | None:
        statement = self._statements.get(table)
        if statement is None:
            statement = _ROW.format(table=self._stored_as(table))
            self._statements[table] = statement
        found = self._cursor.execute(statement, (row_id,)).fetchall()
        return found[0][0] if found else None


#: Rows deleted in one transaction.
_AT_ONCE = 5_000
_DELETE = "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} LIMIT ?)"
_PAGE = "SELECT id, tag, row FROM {table} WHERE id > ? ORDER BY id LIMIT ?"
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
