"""What SQLite's errors mean to whoever has to do something about them."""

import sqlite3

#: SQLite's primary result codes that somebody can do something about.
_MEANING = {
    sqlite3.SQLITE_BUSY: "another process has held its lock too long",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk is full or has failed",
    sqlite3.SQLITE_READONLY: "this user may not write it",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is damaged",
}


def describe(error: BaseException) -> str:
    """Return what happened to the file, with SQLite's own words.

    >>> describe(sqlite3.OperationalError("no such table: stored_events"))
    'no such table: stored_events'
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, sqlite3.Error):
        cause = cause.__cause__
    # An error that the sqlite3 module raises by itself has no code.
    code = getattr(cause, "sqlite_errorcode", None)
    meaning = None if code is None else _MEANING.get(code & 0xFF)
    return str(error) if meaning is None else f"{meaning} ({error})"
