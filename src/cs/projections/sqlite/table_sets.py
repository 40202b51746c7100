"""The tables of views in a SQLite file: a set for each generation, side by side.

As `cs.projections.postgres.table_sets`: the tables of a new generation
(`cs.projections.generation`) are built beside those of the one before, which a process of
the version before goes on reading.  A set that nobody used for a while is dropped.
"""

import sqlite3
from collections.abc import Sequence

from cs.projections.generation import (
    NO_COPIES,
    CopiedRows,
    Generation,
    TableNames,
    copy_plan,
    is_anew,
    is_complete,
    table_prefix,
    to_copy_from,
)
from cs.projections.projection import Projection
from cs.projections.set_aside import ASIDE, SET_ASIDE


class FileTableSet:
    """The tables of the generation of *projections*, or of what is made anew beside it.

    Args:
        projections: All of them.
        name: Of a set that is made anew (`cs.projections.generation.anew_name`).

    Raises:
        sqlite3.Error: From every method that is given a database.
    """

    def __init__(self, projections: Sequence[Projection], name: str | None = None) -> None:
        self.names = TableNames(projections, name)
        self._projections = projections

    def checkpoint(self, database: sqlite3.Connection) -> tuple[int, str]:
        """Return the position of the last event applied, and which event that is."""
        found = database.execute(_CHECKPOINT, (self.names.generation,)).fetchone()
        if found is None:
            raise no_checkpoint()
        position, last_event = found
        return position, last_event

    def edition(self, database: sqlite3.Connection) -> int:
        """Return how often other tables took the place of these."""
        found = database.execute(_EDITION, (self.names.generation,)).fetchone()
        return 0 if found is None else int(found[0])

    def move(self, database: sqlite3.Connection, position: int, last_event: str) -> None:
        """Set the checkpoint; note that this set is in use."""
        database.execute(_MOVE, (position, last_event, self.names.generation))

    # To be called in a transaction.

    def make(self, database: sqlite3.Connection) -> None:
        """Make what is missing; a set that lacks a table begins again, empty."""
        make_shared_tables(database)
        entered = database.execute(_ENTER, (self.names.generation,)).rowcount
        if not entered and self._are_there(database):
            database.execute(_USED, (self.names.generation,))
            return
        self._make_empty(database)

    def make_anew(self, database: sqlite3.Connection) -> None:
        """Make every table of this set anew, empty, whatever is left of it."""
        make_shared_tables(database)
        database.execute(_ENTER, (self.names.generation,))
        self._make_empty(database)

    def retire_others(self, database: sqlite3.Connection, grace_s: float) -> Sequence[str]:
        """Drop the sets that nobody used for *grace_s*; return their generations."""
        unused = database.execute(_UNUSED, (self.names.generation, grace_s)).fetchall()
        for (name,) in unused:
            _drop(database, table_prefix(name))
            for statement in _FORGET:
                database.execute(statement, (name,))
        return [name for (name,) in unused]

    def copy_from(self, database: sqlite3.Connection, name: str) -> CopiedRows:
        """Copy what generation *name* has of unchanged projections into empty tables."""
        position, _ = self.checkpoint(database)
        if position or self.copies(database).projections:
            return NO_COPIES
        source = _source(database, name)
        if source is None or not is_complete(source.position, source.copied_to):
            return NO_COPIES
        plan = copy_plan(self._projections, name)
        theirs = [source.table(table) for table in (*plan.tables, ASIDE.name)]
        if any(_columns(database, table) != COLUMNS for table in theirs):
            return NO_COPIES
        set_aside = f"SELECT true FROM {source.table(ASIDE.name)} WHERE tag = ? LIMIT 1"  # noqa: S608
        if database.execute(set_aside, (SET_ASIDE,)).fetchone() is not None:
            return NO_COPIES
        for table in plan.tables:
            rows = f"SELECT id, tag, row FROM {source.table(table)}"  # noqa: S608
            database.execute(f"INSERT INTO {self.names.table(table)} {rows}")
        if plan.is_everything:
            self.move(database, source.position, source.last_event)
        else:
            names = " ".join(plan.projections)
            values = (self.names.generation, names, source.position, source.last_event)
            database.execute("INSERT INTO view_copies VALUES (?, ?, ?, ?)", values)
        return CopiedRows(plan.projections, source.position, source.last_event)

    # Tables made anew, which take the place of these.

    def anew(self, database: sqlite3.Connection) -> Sequence[str]:
        """Return the names of the sets that are made anew beside this one."""
        found = database.execute("SELECT generation FROM view_sets").fetchall()
        return [name for (name,) in found if is_anew(name, self.names.generation)]

    def drop(self, database: sqlite3.Connection) -> None:
        """Drop these tables."""
        _drop(database, self.names.prefix)
        for statement in _FORGET:
            database.execute(statement, (self.names.generation,))

    def exchange(self, database: sqlite3.Connection, other: "FileTableSet") -> None:
        """Exchange the rows of these tables with those of *other*, at the same checkpoint.

        Nobody copies from those of *other* from then on.
        """
        for ours, theirs in zip(self.names.tables, other.names.tables, strict=True):
            for (index,) in database.execute(_INDEXES, (ours,)).fetchall():
                database.execute(f"DROP INDEX {index}")  # its name is for tables made later
            database.execute(f"ALTER TABLE {ours} RENAME TO {ours}_old")
            database.execute(f"ALTER TABLE {theirs} RENAME TO {ours}")
            database.execute(f"ALTER TABLE {ours}_old RENAME TO {theirs}")
        database.execute(
            "DELETE FROM view_copies WHERE generation = ?", (self.names.generation,)
        )
        database.execute(_NEXT_EDITION, (self.names.generation,))
        other.move(database, 0, "")

    # What is there.

    def others(self, database: sqlite3.Connection) -> list[Generation]:
        """Return the generations whose rows may be copied, the best one first."""
        found = database.execute(_OTHERS, (self.names.generation,)).fetchall()
        return to_copy_from(self._projections, [Generation(*row) for row in found])

    def copies(self, database: sqlite3.Connection) -> CopiedRows:
        """Return what these tables began with."""
        found = database.execute(_COPIES, (self.names.generation,)).fetchone()
        if found is None:
            return NO_COPIES
        names, position, last_event = found
        return CopiedRows(names.split(), position, last_event)

    def _are_there(self, database: sqlite3.Connection) -> bool:
        return all(_columns(database, table) == COLUMNS for table in self.names.tables)

    def _make_empty(self, database: sqlite3.Connection) -> None:
        _drop(database, self.names.prefix)
        for table in self.names.tables:
            database.execute(
                f"CREATE TABLE {table} "
                "(id TEXT PRIMARY KEY, tag TEXT, row BLOB NOT NULL) WITHOUT ROWID"
            )
            database.execute(f"CREATE INDEX {table}_tag ON {table} (tag) WHERE tag IS NOT NULL")
        database.execute(
            "DELETE FROM view_copies WHERE generation = ?", (self.names.generation,)
        )
        self.move(database, 0, "")


class _Source:
    """Tables to copy from, and their checkpoint."""

    def __init__(self, prefix: str, position: int, last_event: str, copied_to: int) -> None:
        self._prefix = prefix
        self.position = position
        self.last_event = last_event
        self.copied_to = copied_to

    def table(self, name: str) -> str:
        return f"{self._prefix}{name}"


def _source(database: sqlite3.Connection, name: str) -> _Source | None:
    found = database.execute(_SOURCE, (name,)).fetchone()
    return None if found is None else _Source(f"{table_prefix(name)}_", *found)


def make_shared_tables(database: sqlite3.Connection) -> None:
    """Make the tables that say which sets there are, if they are missing."""
    for statement in _SHARED:
        database.execute(statement)


def tables_of(database: sqlite3.Connection, prefix: str) -> list[str]:
    """Return the names of the tables that begin with *prefix*."""
    found = database.execute(_TABLES_OF, (f"{prefix}_*",))
    return [table for (table,) in found.fetchall()]


def no_checkpoint() -> sqlite3.Error:
    """Return what SQLite raises for a table that is gone."""
    error = sqlite3.OperationalError("the checkpoint of these views is gone")
    error.sqlite_errorcode = sqlite3.SQLITE_ERROR
    return error


def _columns(database: sqlite3.Connection, table: str) -> Sequence[str]:
    found = database.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [name for (name,) in found]


def _drop(database: sqlite3.Connection, prefix: str) -> None:
    for table in tables_of(database, prefix):
        database.execute(f"DROP TABLE {table}")


#: Of every table of rows.
COLUMNS = ["id", "tag", "row"]
_SHARED = (
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
    """
    CREATE TABLE IF NOT EXISTS view_editions (
        generation TEXT PRIMARY KEY,
        edition INTEGER NOT NULL
    )
    """,
)
_NOW = "CAST(strftime('%s', 'now') AS INTEGER)"
_ENTER = f"INSERT INTO view_sets VALUES (?, 0, '', {_NOW}) ON CONFLICT DO NOTHING"  # noqa: S608
_USED = f"UPDATE view_sets SET used_at = {_NOW} WHERE generation = ?"  # noqa: S608
_MOVE = (
    f"UPDATE view_sets SET position = ?, last_event = ?, used_at = {_NOW} "  # noqa: S608
    "WHERE generation = ?"
)
_CHECKPOINT = "SELECT position, last_event FROM view_sets WHERE generation = ?"
_COPIES = "SELECT projections, position, last_event FROM view_copies WHERE generation = ?"
_EDITION = "SELECT edition FROM view_editions WHERE generation = ?"
_NEXT_EDITION = (
    "INSERT INTO view_editions VALUES (?, 1) "
    "ON CONFLICT (generation) DO UPDATE SET edition = edition + 1"
)
_FORGET = (
    "DELETE FROM view_copies WHERE generation = ?",
    "DELETE FROM view_sets WHERE generation = ?",
    "DELETE FROM view_editions WHERE generation = ?",
)
_INDEXES = "SELECT name FROM sqlite_master WHERE tbl_name = ? AND type = 'index' AND sql <> ''"
_OTHERS = "SELECT generation, position, last_event FROM view_sets WHERE generation <> ?"
_SOURCE = (
    "SELECT s.position, s.last_event, COALESCE(c.position, 0) FROM view_sets AS s "
    "LEFT JOIN view_copies AS c USING (generation) WHERE generation = ?"
)
_UNUSED = f"SELECT generation FROM view_sets WHERE generation <> ? AND used_at < {_NOW} - ?"  # noqa: S608
_TABLES_OF = "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ?"
