"""The event log in a SQLite file, through the eventsourcing library's recorder.

The library gives the tables, the reading statements and the connection pool.  Writing
is ours: batches of appends in one ``BEGIN IMMEDIATE`` transaction (the library's
deferred one fails at once with "database is locked" when another process writes),
expected versions checked inside it, so that versions have no gaps and position order
is commit order.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec
from eventsourcing.persistence import PersistenceError, StoredEvent
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteCursor, SQLiteDatastore

from cs.domain.key import DAY
from cs.eventlog.group_writer import GroupWriter
from cs.eventlog.mapper import DataKeys, StoredRow, domain_form, envelopes, store_form
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    Ceiling,
    CeilingReached,
    LogUnavailable,
    Recorded,
    WrongExpectedVersion,
)
from cs.eventlog.recent import Recent

#: How often another process's appends are looked for.
POLL_S = 0.25
#: How long to wait for another process's transaction.
LOCK_TIMEOUT_S = 10


class Prepared(msgspec.Struct, frozen=True):
    """One append, ready to store."""

    appends: Sequence[Append]
    stored: Sequence[StoredEvent]
    ceiling: Ceiling | None


class BatchRecorder(SQLiteApplicationRecorder):
    """The library's recorder, with batches of contingent appends."""

    def construct_create_table_statements(self) -> list[str]:
        return [
            *super().construct_create_table_statements(),
            (
                "CREATE TABLE IF NOT EXISTS lookup_starts "
                "(number INTEGER PRIMARY KEY, started_at REAL NOT NULL)"
            ),
        ]

    def write(self, requests: Sequence[Prepared]) -> list[int | Exception]:
        """Store each request or say why not; all that are stored commit together."""
        with self.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA synchronous=FULL")
            cursor.execute("BEGIN IMMEDIATE")
            try:
                answers = [self._write_one(cursor, request) for request in requests]
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    cursor.execute("ROLLBACK")
                raise
        return answers

    def _write_one(self, cursor: SQLiteCursor, request: Prepared) -> int | Exception:
        for append in request.appends:
            found = self._version(cursor, append.stream)
            if found != append.expected:
                return WrongExpectedVersion(append.stream, append.expected, found)
        if request.ceiling is not None:
            opens_at = self._opens_at(cursor, request.ceiling)
            if opens_at is not None:
                return CeilingReached(opens_at)
            cursor.execute(
                "INSERT INTO lookup_starts (started_at) VALUES (?)",
                (request.ceiling.at.timestamp(),),
            )
        positions = self._insert_events(cursor, request.stored)
        assert positions
        return positions[-1]

    def _version(self, cursor: SQLiteCursor, stream: str) -> int:
        cursor.execute(
            f"SELECT MAX(originator_version) FROM {self.events_table_name} "  # noqa: S608
            "WHERE originator_id = ?",
            (stream,),
        )
        version: int | None = cursor.fetchone()[0]
        return NO_STREAM if version is None else version

    def opens_at(self, ceiling: Ceiling) -> datetime | None:
        with self.datastore.transaction(commit=False) as cursor:
            return self._opens_at(cursor, ceiling)

    def _opens_at(self, cursor: SQLiteCursor, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        # Start number n - limit decides: everything after it is inside the window too.
        cursor.execute(
            "SELECT started_at FROM lookup_starts WHERE number = "
            "(SELECT COALESCE(MAX(number), 0) FROM lookup_starts) + 1 - ?",
            (ceiling.limit,),
        )
        row = cursor.fetchone()
        if row is None:
            return None
        opens_at = datetime.fromtimestamp(row[0], UTC) + DAY
        return opens_at if opens_at > ceiling.at else None

    def select_stream(self, stream: str, after: int) -> list[StoredRow]:
        """Return what is stored of *stream* after version *after*."""
        return self._select(
            "WHERE originator_id = ? AND originator_version > ? ORDER BY originator_version",
            (stream, after),
        )

    def select_page(self, after: int, limit: int) -> list[StoredRow]:
        """Return what is stored after position *after*, at most *limit* rows.

        Plain tuples: the library's rows by name and notification objects cost more than
        reading them (bench/event_log.py).
        """
        return self._select("WHERE rowid > ? ORDER BY rowid LIMIT ?", (after, limit))

    def _select(self, where: str, parameters: tuple[str | int, ...]) -> list[StoredRow]:
        columns = "rowid, originator_id, originator_version, topic, state"
        with self.datastore.get_connection(commit=False) as connection:
            cursor = connection.cursor().sqlite_cursor
            cursor.row_factory = None
            return cursor.execute(
                f"SELECT {columns} FROM {self.events_table_name} {where}",  # noqa: S608
                parameters,
            ).fetchall()


class SqliteEventLog:
    """Use as ``async with``."""

    def __init__(self, path: Path, keys: DataKeys) -> None:
        self._keys = keys
        self._datastore = SQLiteDatastore(
            f"file:{path}",
            lock_timeout=LOCK_TIMEOUT_S,
            pool_size=6,
            originator_id_type="text",
        )
        self._recorder = BatchRecorder(self._datastore)
        self._readers = ThreadPoolExecutor(4, thread_name_prefix="log-reader")
        self._writer = GroupWriter[Prepared, int](self._recorder.write, self._wrote)
        self._recent = Recent()
        self._stack = AsyncExitStack()
        self._closed = False

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._recorder.create_table)
        self._recent = Recent(await self._max_position())
        await self._stack.enter_async_context(self._writer)
        poll = asyncio.create_task(self._poll(), name="log-poll")

        async def stop_polling() -> None:
            poll.cancel()
            with suppress(asyncio.CancelledError):
                await poll

        self._stack.push_async_callback(stop_polling)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closed = True
        await self._stack.aclose()
        self._readers.shutdown(wait=True)
        self._datastore.close()

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        stored = await store_form(self._keys, list(envelopes(appends)))
        return await self._writer.submit(Prepared(appends, stored, ceiling))

    def _wrote(self, request: Prepared, last: int) -> None:
        position = last - len(request.stored)
        events = []
        for append in request.appends:
            for n, event in enumerate(append.events, 1):
                position += 1
                events.append(Recorded(position, append.stream, append.expected + n, event))
        self._recent.add(events)

    async def read(self, stream: str, after: int = NO_STREAM) -> Sequence[Recorded]:
        rows = await self._reading(self._recorder.select_stream, stream, after)
        return await domain_form(self._keys, rows)

    async def tail(self, after: int, limit: int = 500) -> Sequence[Recorded]:
        recent = self._recent.after(after, limit)
        if recent is not None:
            return recent
        rows = await self._reading(self._recorder.select_page, after, limit)
        return await domain_form(self._keys, rows)

    async def head(self) -> int:
        return max(self._recent.head, await self._max_position())

    async def grown(self, after: int) -> None:
        await self._recent.wait(after)

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        opens_at: datetime | None = await self._reading(self._recorder.opens_at, ceiling)
        return opens_at

    async def _max_position(self) -> int:
        position: int | None = await self._reading(self._recorder.max_notification_id)
        return position or 0

    async def _reading(self, function: Any, *arguments: Any) -> Any:
        if self._closed:
            raise LogUnavailable("the log is closed")
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._readers, function, *arguments)
        except (PersistenceError, sqlite3.Error) as error:
            raise LogUnavailable(f"the log could not be read: {error}") from error

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            with suppress(LogUnavailable):  # whoever reads next is told
                self._recent.moved(await self._max_position())
