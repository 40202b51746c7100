"""The event log in a SQLite file, written and read in threads.

Only the newest events of a stream are read on the event loop: they are few, and in memory.

The file is not checked as a whole when it is opened: SQLite notices a truncated file
by itself, and reading every page would make each start, also of a command run next to the
service, as slow as the log is long.  ``PRAGMA quick_check`` takes 2 ms/MiB with the file
in memory (100,000 small events: 32 ms, opening without it 2 ms; 4 GiB: 8 s and a cold
disk's time on top) and does not see a value that changed.  What is read is checked
instead: events follow each other without a gap and can be decoded, or the log says which
one is damaged.

The library eventsourcing gives the table, its connections and their pool (`BatchRecorder`).
"""

import asyncio
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self

import msgspec
from eventsourcing.persistence import PersistenceError
from eventsourcing.sqlite import SQLiteApplicationRecorder, SQLiteDatastore
from structlog import get_logger

from cs.domain.brand.events import LookupStarted
from cs.domain.codec import every_version
from cs.domain.rate_limits import DAY, opens_after
from cs.eventlog.mapper import NewEvent, StoredRow
from cs.eventlog.port import (
    NO_STREAM,
    Ceiling,
    CeilingReached,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.eventlog.table_log import PreparedAppend, RecentEvents, TableLog
from cs.keystore.port import KeyStore
from cs.metrics.metrics import Metrics
from cs.runtime import failpoints
from cs.runtime.private_files import make_private
from cs.runtime.shared import Shared
from cs.sqlite.database import LOCK_TIMEOUT_S, DatabaseThreads, describe, transaction
from cs.sqlite.sql import bound, spelled

log = get_logger()

#: What reading and writing raise when the file or its disk is the reason.
FAILED = (PersistenceError, sqlite3.Error)
#: How often another process's appends are looked for.
POLL_S = 0.25
#: Bytes of SQLite's smallest page; a file has at least one.
_SMALLEST = 512
#: Events stored by one statement.
_ROWS = 500
#: Every `LookupStarted`, also of versions to come: they have started a lookup, too.
_STARTED = f"topic GLOB '{every_version(LookupStarted)}[0-9]*'"
#: So that the daily ceiling is found without reading other events.
_STARTS_INDEX = (
    f"CREATE INDEX IF NOT EXISTS lookup_started_any ON stored_events (topic) WHERE {_STARTED}"
)
_START = f"""
SELECT CAST(state AS BLOB) FROM stored_events WHERE {_STARTED}
ORDER BY topic DESC, rowid DESC LIMIT 1 OFFSET ?
"""  # noqa: S608
#: What Python's ``sqlite3`` says of text that is damaged (``pysqlite_fetch_one_row``).
_NO_UTF_8 = "Could not decode to UTF-8"


class LogFile:
    """Knows the file that was opened from another one under its name.

    SQLite goes on writing to files that were deleted or replaced under it.  What it says
    is stored then is gone with the last process that has them open.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        self._opened: list[tuple[int, int]] = []

    @property
    def uri(self) -> str:
        """The path for SQLite, which takes ``?``, ``#`` and ``%`` in a bare one for its own."""
        return self.path.as_uri()

    def check_not_emptied(self) -> None:
        """Raise if there is a file with next to nothing in it: SQLite would start over in it.

        Raises:
            LogUnavailable: It is.
        """
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size < _SMALLEST:
            raise LogUnavailable(
                f"{self.path} holds {size} bytes, fewer than any log; bring it back from a "
                "backup, or delete it if there never was anything in it"
            )

    def opened(self) -> None:
        """Remember the files as they are now; the log keeps them open from here on."""
        self._opened = [self._identity(file) for file in self._files]

    def check(self) -> None:
        """Raise unless the files are those that were opened.

        Raises:
            LogUnavailable: One was deleted or replaced.
        """
        for file, opened in zip(self._files, self._opened, strict=False):
            try:
                same = self._identity(file) == opened
            except FileNotFoundError:
                same = False
            if not same:
                raise LogUnavailable(
                    f"{file} was deleted or replaced while it was in use; stop every process "
                    "that uses it, bring the file back and start again"
                )

    @staticmethod
    def _identity(file: Path) -> tuple[int, int]:
        found = os.stat(file)  # noqa: PTH116  several times an append; Path's costs more
        return found.st_dev, found.st_ino


class BatchRecorder(SQLiteApplicationRecorder):
    """The library's recorder, with batches of contingent appends.

    The library's deferred transactions fail at once with "database is locked" when another
    process writes.  Here batches are stored in one ``BEGIN IMMEDIATE`` transaction, expected
    versions checked inside it, so that versions have no gaps and position order is commit
    order.
    """

    @classmethod
    def at(cls, uri: str, lock_timeout_s: int) -> Self:
        """Return the recorder of the file at *uri*, on the library's pool of connections."""
        return cls(
            SQLiteDatastore(
                uri, lock_timeout=lock_timeout_s, pool_size=6, originator_id_type="text"
            )
        )

    def construct_create_table_statements(self) -> list[str]:
        return [*super().construct_create_table_statements(), _STARTS_INDEX]

    def write(self, requests: Sequence[PreparedAppend]) -> list[int | Exception]:
        """Store each request or say why not; all that are stored commit together.

        Without a request, a page of the file is written as it was, to see whether it can be.
        """
        with self._writing() as cursor:
            if not requests:
                cursor.execute("PRAGMA user_version = 0")
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
            try:
                with transaction(cursor):
                    yield cursor
            except sqlite3.OperationalError as error:
                # It was opened while the disk was read-only, and never writes again.
                if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_READONLY:
                    connection.close()
                raise

    def _write_all(
        self, cursor: sqlite3.Cursor, requests: Sequence[PreparedAppend]
    ) -> list[int | Exception]:
        """Store *requests*, one after the other: two statements for however many there are.

        The thread that executes one lets go of the interpreter, and waits to have it back.
        """
        streams = {append.stream for request in requests for append in request.appends}
        versions = self._versions(cursor, streams)
        refusals, stored, starts = list[Exception | None](), list[NewEvent](), list[datetime]()
        for request in requests:
            refusal = self._refusal(cursor, request, versions, starts)
            refusals.append(refusal)
            if refusal is None:
                stored += request.stored
                if request.ceiling is not None:
                    starts.append(request.ceiling.at)
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
        self,
        cursor: sqlite3.Cursor,
        request: PreparedAppend,
        versions: Mapping[str, int],
        starts: Sequence[datetime],
    ) -> Exception | None:
        """Return why *request* is not stored; ``None`` if it is.

        Args:
            cursor: Of the open transaction.
            request: The next request of the batch.
            versions: Of the streams, with the requests before it stored.
            starts: When the requests before it start their lookups.
        """
        for append in request.appends:
            found = versions.get(append.stream, NO_STREAM)
            if found != append.expected:
                return WrongExpectedVersion(append.stream, append.expected, found)
        if request.ceiling is not None:
            opens_at = self._opens_at(cursor, request.ceiling, starts)
            if opens_at is not None:
                return CeilingReached(opens_at)
        return None

    def _opens_at(
        self, cursor: sqlite3.Cursor, ceiling: Ceiling, starts: Sequence[datetime] = ()
    ) -> datetime | None:
        """Return when the next lookup may start; ``None`` if it may now.

        *starts* are about to be stored.  The start that decides is the last but ``limit``, or
        the first one after it that is not damaged: what is newer is inside the window too.
        """
        if ceiling.limit is None:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        if len(starts) >= ceiling.limit:
            return opens_after(starts[-ceiling.limit], ceiling.at)
        for newer in reversed(range(ceiling.limit - len(starts))):
            with suppress(msgspec.MsgspecError, TypeError):
                row = cursor.execute(_START, (newer,)).fetchone()
                if row is None:
                    return None
                start = _decode_start(row[0])
                return opens_after(start.clock or start.at, ceiling.at)
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
            return self._opens_at(cursor.sqlite_cursor, ceiling)

    def fetch(self, sql: str, parameters: Sequence[object]) -> list[StoredRow]:
        """Return plain tuples: the library's notification objects cost more than reading."""
        given = {str(n): bound(value) for n, value in enumerate(parameters, 1)}
        with self.datastore.get_connection(commit=False) as connection:
            cursor = connection.cursor().sqlite_cursor
            cursor.row_factory = None
            try:
                return cursor.execute(_spelled(sql), given).fetchall()
            except sqlite3.OperationalError as error:
                if not str(error).startswith(_NO_UTF_8):
                    raise
            # One row of them: the others are to be read.
            cursor.connection.text_factory = _whatever_it_is
            try:
                return cursor.execute(_spelled(sql), given).fetchall()
            finally:
                cursor.connection.text_factory = str


class _Start(msgspec.Struct):
    """The fields read of a stored `LookupStarted`, whichever its version."""

    at: datetime
    clock: datetime | None = None


_decode_start = msgspec.json.Decoder(_Start).decode


@lru_cache(maxsize=1_000)
def _spelled(sql: str) -> str:
    return spelled(sql).replace("notification_id", "rowid")


def _json(values: Iterable[str]) -> str:
    return msgspec.json.encode(sorted(values)).decode()


def _whatever_it_is(text: bytes) -> str:
    return text.decode(errors="replace")


class SqliteEventLog(TableLog):
    """Use as ``async with``.

    Args:
        path: Of the file.
        keys: What seals and opens personal values.
        lock_timeout_s: How long to wait for another process's transaction.
        waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        metrics: Where appends are counted.

    Raises:
        LogUnavailable: On entering: the file cannot be used.
    """

    def __init__(
        self,
        path: Path,
        keys: KeyStore,
        *,
        lock_timeout_s: int = LOCK_TIMEOUT_S,
        waiting: int | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        super().__init__(keys, waiting=waiting, metrics=metrics)
        self._file = LogFile(path)
        self._recorder = BatchRecorder.at(self._file.uri, lock_timeout_s)
        self._readers = DatabaseThreads("log-reader", 4)
        self._write_failed = False
        # Those that wait for a lock would use up the connections, readers' too.
        self._write_tried = Shared[Sequence[int | Exception]](0.0)

    async def __aenter__(self) -> Self:
        try:
            await self._open()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def _open(self) -> None:
        try:
            self._file.check_not_emptied()
            make_private(self._file.path)
            await asyncio.to_thread(self._recorder.create_table)
            self._recent = RecentEvents(await self._last_position())
            self._file.opened()
        except (*FAILED, OSError) as error:
            raise LogUnavailable(f"the log could not be opened: {describe(error)}") from error
        self._begin(self._poll(), "log-poll")

    async def __aexit__(self, *_: object) -> None:
        await super().__aexit__()
        self._readers.close()
        self._recorder.datastore.close()

    async def _write(self, requests: Sequence[PreparedAppend]) -> Sequence[int | Exception]:
        try:
            answers = await asyncio.to_thread(self._write_here, requests)
        except LogUnavailable:
            self._write_failed = True
            raise
        self._write_failed = False
        return answers

    async def check_writes(self) -> None:
        """Pass if the last write succeeded, or one would now.

        Raises:
            LogUnavailable: The file cannot be written.
        """
        if self._write_failed:
            await self._write_tried.get(partial(self._write, ()))

    def _write_here(self, requests: Sequence[PreparedAppend]) -> list[int | Exception]:
        self._file.check()
        try:
            answers = self._recorder.write(requests)
        except FAILED as error:
            raise LogUnavailable(describe(error)) from error
        self._file.check()  # else what was stored is in a file without a name
        return answers

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None:
            return None
        with self._translated_errors():
            return await self._readers.run(self._recorder.opens_at, ceiling)

    async def _fetch(self, sql: str, *parameters: object) -> Sequence[Any]:
        with self._translated_errors():
            return await self._readers.run(self._recorder.fetch, sql, parameters)

    async def _fetch_few(self, sql: str, *parameters: object) -> Sequence[Any]:
        # A thread would cost ten times the read.
        with self._translated_errors():
            return self._recorder.fetch(sql, parameters)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        if self._closed:
            raise LogUnavailable("the log is closed")
        try:
            yield
        except FAILED as error:
            raise LogUnavailable(f"the log could not be read: {describe(error)}") from error

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(POLL_S)
            with suppress(LogUnavailable):  # the next reader gets it
                self._recent.moved(await self._last_position())
