"""A new file of views in the place of a damaged one, with every generation that is sound."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from cs.projections.generation import table_prefix
from cs.projections.sqlite.legacy import LEGACY, legacy_tables
from cs.projections.sqlite.table_sets import make_shared_tables, tables_of
from cs.runtime.private_files import make_private
from cs.sqlite.database import connect, transaction


def replace_damaged(path: Path) -> list[str]:
    """Replace the file at *path*, which nobody of this process has open.

    Returns:
        The generations whose tables could be read from end to end: they are in the new file.

    Raises:
        OSError: A file cannot be made or removed.
        sqlite3.Error: The new file cannot be written.
    """
    new = path.with_name(f"{path.name}.new")
    _remove(new)  # of a process that ended before it was done
    make_private(new)
    with closing(connect(new, synchronous="FULL")) as database:
        with transaction(database):
            make_shared_tables(database)
        kept = _copy_sound(database, path)
    _remove(path)  # with its write-ahead log, which must not be read into the new file
    new.replace(path)
    return kept


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _copy_sound(database: sqlite3.Connection, path: Path) -> list[str]:
    """Copy the generations in the file at *path*, each if all its tables are sound."""
    with suppress(sqlite3.Error):
        database.execute("ATTACH ? AS damaged", (str(path),))
        _check(database, "view_sets")
        _check(database, "view_copies")
        found = database.execute("SELECT generation FROM damaged.view_sets").fetchall()
        return [name for (name,) in found if _is_copied(database, name)]
    return []


def _is_copied(database: sqlite3.Connection, name: str) -> bool:
    """Copy the generation *name*; return whether that went."""
    try:
        with transaction(database):
            if name == LEGACY:
                tables = legacy_tables(database, "damaged")
            else:
                tables = tables_of(database, table_prefix(name), "damaged")
            for table in tables:
                _copy(database, table)
            for table in ("view_sets", "view_copies"):
                database.execute(
                    f"INSERT INTO {table} SELECT * FROM damaged.{table} WHERE generation = ?",  # noqa: S608
                    (name,),
                )
    except sqlite3.Error:
        return False
    return True


def _copy(database: sqlite3.Connection, table: str) -> None:
    _check(database, table)
    made = "SELECT sql FROM damaged.sqlite_master WHERE tbl_name = ? AND sql IS NOT NULL"
    for (statement,) in database.execute(f"{made} ORDER BY type DESC", (table,)).fetchall():
        database.execute(statement)  # the table, then its indexes
    database.execute(f"INSERT INTO {table} SELECT * FROM damaged.{table}")  # noqa: S608


def _check(database: sqlite3.Connection, table: str) -> None:
    """Raise `sqlite3.DatabaseError` unless *table* and its indexes are sound."""
    if database.execute(f"PRAGMA damaged.integrity_check({table})").fetchall() != [("ok",)]:
        raise sqlite3.DatabaseError(f"the table {table} is damaged")
