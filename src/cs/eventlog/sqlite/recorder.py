"""The eventsourcing library's SQLite recorder, with batches of contingent appends.

The library gives the tables and the reading statements.  Writing is ours: batches of
appends in one ``BEGIN IMMEDIATE`` transaction (the library's deferred one fails at once
with "database is locked" when another process writes), expected versions checked inside
it, so that versions have no gaps and position order is commit order.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from operator import itemgetter
from typing import Self

import msgspec
from eventsourcing.persistence import PersistenceError
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from structlog import get_logger

from cs.eventlog.errors import CeilingReached, WrongExpectedVersion
from cs.eventlog.lookup_starts import LookupStarts
from cs.eventlog.mapper import NewEvent, StoredRow
from cs.eventlog.port import NO_STREAM, Ceiling, Where
from cs.eventlog.table_log import PreparedAppend
from cs.runtime import failpoints
from cs.sqlite.database import transaction

log = get_logger()

#: What reading and writing raise when the file or its disk is the reason.
FAILED = (PersistenceError, sqlite3.Error)

#: Events stored by one statement.
_ROWS = 500
#: SQLite's word for a page without an end.
_ALL = -1
#: The columns of a `StoredRow`.
_ROW = "rowid, originator_id, originator_version, topic, state"
_OF_STREAM = (
    "WHERE originator_id = ? AND originator_version > ? ORDER BY originator_version LIMIT ?"
)
#: What Python's ``sqlite3`` says of text that is damaged (``pysqlite_fetch_one_row``).
_NO_UTF_8 = "Could not decode to UTF-8"


class BatchRecorder(SQLiteApplicationRecorder):
    """The library's recorder, with batches of contingent appends."""

    @classmethod
    def at(cls, uri: str, lock_timeout_s: int) -> Self:
        """Return the recorder of the file at *uri*, on the library's pool of connections."""
        return cls(
            SQLiteDatastore(
                uri, lock_timeout=lock_timeout_s, pool_size=6, originator_id_type="text"
            )
        )

    @cached_property
    def _starts(self) -> LookupStarts:
        return LookupStarts(self.events_table_name)

    def construct_create_table_statements(self) -> list[str]:
        return [*super().construct_create_table_statements(), *self._starts.statements()]

    def create_table(self) -> None:
        """Make what is missing; make anew what the log knows better."""
        super().create_table()
        with self.datastore.transaction(commit=False) as cursor:
            if self._starts.is_complete(cursor.sqlite_cursor):
                return
        with self._writing() as cursor:
            if not self._starts.is_complete(cursor):  # else another process was first
                log.info("lookup_starts_rebuilt", starts=self._starts.rebuild(cursor))

    def write(self, requests: Sequence[PreparedAppend]) -> list[int | Exception]:
        """Store each request or say why not; all that are stored commit together."""
        with self._writing() as cursor:
            answers = self._write_all(cursor, requests)
            failpoints.reach("log.before-commit")
        failpoints.reach("log.after-commit")
        return answers

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Cursor]:
        """Hold SQLite's lock for writers; what was written is durable after, or undone."""
        # Not as the pool's writer: if it cannot open a connection, its lock for writers is
        # never released.  SQLite's own lock is enough, and here there is one thread.
        with self.datastore.get_connection(commit=False) as connection:
            cursor = connection.cursor().sqlite_cursor
            cursor.execute("PRAGMA synchronous=FULL")
            with transaction(cursor, commit=lambda: self._commit(cursor)):
                yield cursor

    def _commit(self, cursor: sqlite3.Cursor) -> None:
        cursor.execute("COMMIT")

    def _write_all(
        self, cursor: sqlite3.Cursor, requests: Sequence[PreparedAppend]
    ) -> list[int | Exception]:
        """Store *requests*, one after the other: two statements for however many there are.

        Whoever executes one lets go of the interpreter, and waits to have it back.
        """
        streams = {append.stream for request in requests for append in request.appends}
        versions = self._versions(cursor, streams)
        refusals, stored = list[Exception | None](), list[NewEvent]()
        for request in requests:
            refusal = self._refusal(cursor, request, versions)
            refusals.append(refusal)
            if refusal is None:
                stored += request.stored
                for append in request.appends:
                    versions[append.stream] = append.expected + len(append.events)
        position = self._insert(cursor, stored) - len(stored)
        answers = list[int | Exception]()
        for request, refusal in zip(requests, refusals, strict=True):
            if refusal is None:
                assert request.stored, "an append has events"
                position += len(request.stored)
            answers.append(position if refusal is None else refusal)
        return answers

    def _refusal(
        self, cursor: sqlite3.Cursor, request: PreparedAppend, versions: Mapping[str, int]
    ) -> Exception | None:
        """Return why *request* is not stored; ``None`` if it is, its start numbered."""
        for append in request.appends:
            found = versions.get(append.stream, NO_STREAM)
            if found != append.expected:
                return WrongExpectedVersion(append.stream, append.expected, found)
        if request.ceiling is not None:
            opens_at = self._starts.opens_at(cursor, request.ceiling)
            if opens_at is not None:
                return CeilingReached(opens_at)
            self._starts.add(cursor, request.ceiling.at)
        return None

    def _versions(self, cursor: sqlite3.Cursor, streams: Collection[str]) -> dict[str, int]:
        """Return the version of each of *streams* that there is."""
        cursor.execute(
            "SELECT value, (SELECT MAX(originator_version) "  # noqa: S608
            f"FROM {self.events_table_name} WHERE originator_id = value) FROM json_each(?)",
            (_json(streams),),
        )
        return {stream: found for stream, found in cursor.fetchall() if found is not None}

    def _insert(self, cursor: sqlite3.Cursor, stored: Sequence[NewEvent]) -> int:
        """Store events in their order; return the position of the last, each has the next."""
        last = 0
        for first in range(0, len(stored), _ROWS):
            rows = stored[first : first + _ROWS]
            values = ",".join(["(?,?,?,?)"] * len(rows))
            cursor.execute(
                f"INSERT INTO {self.events_table_name} VALUES {values}",  # noqa: S608
                [value for row in rows for value in row],
            )
            last = cursor.lastrowid or 0
        return last

    def opens_at(self, ceiling: Ceiling) -> datetime | None:
        with self.datastore.transaction(commit=False) as cursor:
            return self._starts.opens_at(cursor.sqlite_cursor, ceiling)

    def select_stream(self, stream: str, after: int, limit: int | None) -> list[StoredRow]:
        """Return what is stored of *stream* after version *after*, at most *limit* rows."""
        return self._select(_OF_STREAM, (stream, after, _ALL if limit is None else limit))

    def select_page(self, after: int, limit: int) -> list[StoredRow]:
        """Return what is stored after position *after*, at most *limit* rows.

        Plain tuples: the library's rows by name and notification objects cost more than
        reading them.
        """
        return self._select("WHERE rowid > ? ORDER BY rowid LIMIT ?", (after, limit))

    def select_where(self, where: Where, after: int, upto: int) -> list[StoredRow]:
        """Return what is stored of *where* after position *after*, up to *upto*."""
        conditions = ["rowid > ? AND rowid <= ?"]
        parameters: list[str | int] = [after, upto]
        if where.topics is not None:
            conditions.append("topic IN (SELECT value FROM json_each(?))")
            parameters.append(_json(where.topics))
        if where.streams is not None and not where.prefixes:
            # By the index of streams; + keeps SQLite from going through all positions.
            conditions = ["+rowid > ? AND +rowid <= ?", *conditions[1:]]
            conditions.append("originator_id IN (SELECT value FROM json_each(?))")
            parameters.append(_json(where.streams))
            # Sorted here: SQLite would copy every state for it.
            found = self._select(f"WHERE {' AND '.join(conditions)}", tuple(parameters))
            return sorted(found, key=itemgetter(0))
        if where.streams is not None or where.prefixes is not None:
            conditions.append(
                "(originator_id IN (SELECT value FROM json_each(?)) OR EXISTS (SELECT 1 FROM "
                "json_each(?) WHERE substr(originator_id, 1, length(value)) = value))"
            )
            parameters += [_json(where.streams or ()), _json(where.prefixes or ())]
        ordered = f"WHERE {' AND '.join(conditions)} ORDER BY rowid"
        return self._select(ordered, tuple(parameters))

    def _select(self, where: str, parameters: tuple[str | int, ...]) -> list[StoredRow]:
        with self.datastore.get_connection(commit=False) as connection:
            cursor = connection.cursor().sqlite_cursor
            cursor.row_factory = None
            statement = f"SELECT {_ROW} FROM {self.events_table_name} {where}"  # noqa: S608
            try:
                return cursor.execute(statement, parameters).fetchall()
            except sqlite3.OperationalError as error:
                if not str(error).startswith(_NO_UTF_8):
                    raise
            # One row of them: the others are to be read.
            cursor.connection.text_factory = _whatever_it_is
            try:
                return cursor.execute(statement, parameters).fetchall()
            finally:
                cursor.connection.text_factory = str


def _json(values: Iterable[str]) -> str:
    return msgspec.json.encode(sorted(values)).decode()


def _whatever_it_is(text: bytes) -> str:
    return text.decode(errors="replace")
