"""Views in a SQLite file: rows and checkpoint in one transaction, a page at a time."""

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import TypeVar

import msgspec

from cs.eventlog.port import Recorded
from cs.projections.projection import Projection, SealBody
from cs.projections.rows import Rows, Table

R = TypeVar("R", bound=msgspec.Struct)


class ViewStore:
    """Synchronous; the runner calls it in a thread.

    A changed set of versions is another set of tables: views are rebuilt from the log,
    never migrated, and the old tables are dropped once the new ones are there.
    """

    def __init__(self, path: Path | None, projections: Sequence[Projection]) -> None:
        self._projections = projections
        self._lock = Lock()
        self._db = sqlite3.connect(
            path or ":memory:", check_same_thread=False, isolation_level=None, timeout=10
        )
        self._db.execute("PRAGMA journal_mode=WAL")
        # A lost view is rebuilt from the log, so its own commits need not be durable.
        self._db.execute("PRAGMA synchronous=NORMAL")
        self.generation = "_".join(f"{p.name}{p.version}" for p in projections)
        self._make()

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def position(self) -> int:
        """Return the checkpoint: the position of the last event these views reflect."""
        with self._lock:
            return self._position()

    def apply(self, page: Sequence[Recorded], seal: SealBody) -> int:
        """Apply what is new in *page* and return the checkpoint after it.

        A page that does not go on where the views are is left alone: somebody else
        rebuilt them, and the checkpoint says from where to read.
        """
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                checkpoint = self._position()
                new = [recorded for recorded in page if recorded.position > checkpoint]
                if new and new[0].position != checkpoint + 1:
                    new = []
                rows = self._applied(new, seal)
                for table, row_id, tag, data in rows.changes():
                    self._db.execute(_UPSERT.format(table=table), (row_id, tag, data))
                if new:
                    checkpoint = new[-1].position
                    self._db.execute("UPDATE checkpoint SET position = ?", (checkpoint,))
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
            return checkpoint

    def ahead(
        self, newer: Sequence[Recorded], seal: SealBody, table: Table[R], row_id: str
    ) -> R | None:
        """Return the row as it will be once *newer* is applied; nothing is written."""
        with self._lock:
            checkpoint = self._position()
            rows = self._applied([r for r in newer if r.position > checkpoint], seal)
            return rows.get(table, row_id)

    def get(self, table: Table[R], row_id: str) -> R | None:
        with self._lock:
            data = self.row(table.name, row_id)
        return table.decode(data) if data is not None else None

    def tagged(self, table: Table[R], tag: str) -> list[tuple[str, R]]:
        """Return (id, row) of the rows tagged *tag*."""
        with self._lock:
            found = self._db.execute(_TAGGED.format(table=table.name), (tag,)).fetchall()
        return [(row_id, table.decode(data)) for row_id, data in found]

    def all(self, table: Table[R]) -> Iterator[tuple[str, R]]:
        """Yield (id, row) of every row."""
        with self._lock:
            found = self._db.execute(_ALL.format(table=table.name)).fetchall()
        for row_id, data in found:
            yield row_id, table.decode(data)

    def row(self, table: str, row_id: str) -> bytes | None:
        found = self._db.execute(_ROW.format(table=table), (row_id,)).fetchone()
        return None if found is None else found[0]

    def reset(self) -> None:
        """Forget everything; the next page to apply is the log's first."""
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            for table in TABLES:
                self._db.execute(f"DROP TABLE IF EXISTS {table}")
            self._db.execute("DROP TABLE IF EXISTS checkpoint")
            self._db.execute("COMMIT")
            self._make()

    def _applied(self, new: Sequence[Recorded], seal: SealBody) -> Rows:
        rows = Rows(self)
        for recorded in new:
            for projection in self._projections:
                projection.apply(rows, recorded, seal)
        return rows

    def _position(self) -> int:
        position: int = self._db.execute("SELECT position FROM checkpoint").fetchone()[0]
        return position

    def _make(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS checkpoint (generation TEXT NOT NULL, "
            "position INTEGER NOT NULL)"
        )
        found = self._db.execute("SELECT generation FROM checkpoint").fetchone()
        if found is None or found[0] != self.generation:
            for table in TABLES:
                self._db.execute(f"DROP TABLE IF EXISTS {table}")
            self._db.execute("DELETE FROM checkpoint")
            self._db.execute("INSERT INTO checkpoint VALUES (?, 0)", (self.generation,))
        for table in TABLES:
            self._db.execute(
                f"CREATE TABLE IF NOT EXISTS {table} "
                "(id TEXT PRIMARY KEY, tag TEXT, row BLOB NOT NULL) WITHOUT ROWID"
            )
            self._db.execute(
                f"CREATE INDEX IF NOT EXISTS {table}_tag ON {table} (tag) WHERE tag IS NOT NULL"
            )
        self._db.execute("COMMIT")


#: The tables of all projections; names are ours, never a caller's.
TABLES = ("searches", "results", "usage", "brands")

_ROW = "SELECT row FROM {table} WHERE id = ?"
_TAGGED = "SELECT id, row FROM {table} WHERE tag = ? ORDER BY id"
_ALL = "SELECT id, row FROM {table} ORDER BY id"
_UPSERT = (
    "INSERT INTO {table} VALUES (?, ?, ?) "
    "ON CONFLICT (id) DO UPDATE SET tag = excluded.tag, row = excluded.row"
)
