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


def drop_legacy(database: sqlite3.Connection) -> None:
    for table in _TABLES:
        database.execute(f"DROP TABLE IF EXISTS {table}")
