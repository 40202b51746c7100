"""Tables of views as files had them before each generation had its own.

They are one generation, under names without a prefix.  A process of that version may still
use them, so they are copied from and left alone until nobody moves their checkpoint any more.
"""

import sqlite3

from cs.projections.generation import Generation

#: Stands in ``view_sets`` for these tables.
LEGACY = ""
#: Of every table of rows.
COLUMNS = ["id", "tag", "row"]

_TABLES = ("searches", "results", "usage", "brands", "returned", "aside", "checkpoint")


def legacy_checkpoint(database: sqlite3.Connection) -> Generation | None:
    """Return what the checkpoint of these tables says, if they are there."""
    columns = database.execute("SELECT name FROM pragma_table_info('checkpoint')").fetchall()
    if ("last_event",) not in columns:
        return None  # none, or from before a checkpoint named its event
    found = database.execute("SELECT generation, position, last_event FROM checkpoint")
    row = found.fetchone()
    return None if row is None else Generation(*row)


def legacy_tables(database: sqlite3.Connection, schema: str = "main") -> list[str]:
    """Return those of these tables that *schema* has."""
    found = database.execute(f"SELECT name FROM {schema}.sqlite_master WHERE type = 'table'")  # noqa: S608
    return [name for (name,) in found.fetchall() if name in _TABLES]


def drop_legacy(database: sqlite3.Connection) -> None:
    for table in legacy_tables(database):
        database.execute(f"DROP TABLE {table}")
