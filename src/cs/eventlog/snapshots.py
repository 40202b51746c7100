"""Folded states that outlive the process, so that no start reads the whole life of a key.

A snapshot is a place to begin folding, nothing more: what came after it is always read, and
one that is in doubt is ignored, because the log knows everything in it.  It carries the
version of its category's rules (`cs.eventlog.categories`); one of another version is ignored.
Submitting one never waits, and losing one is harmless.

They are in the log's own database, in the snapshot table of the eventsourcing library, so that
a backup brings back both or neither, and none outlives the events it was made of.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import msgspec
from structlog import get_logger

from cs.runtime.sql import Database, Work
from cs.sqlite.sql import SqliteDatabase

log = get_logger()

#: Events of a stream between two snapshots: what a cold start folds at most, about 10 ms.
EVERY = 500
#: Snapshots that may wait to be written; further ones are dropped.
WAITING = 1_000
#: How long those that wait may take when the process ends.
LEAVE_S = 5.0
#: How long to wait for another writer of the log's file.
LOCK_TIMEOUT_S = 2


class SnapshotsUnavailable(Exception):
    """Snapshots cannot be read or written now; every state can be read without them."""


class Snapshot(msgspec.Struct, frozen=True):
    """The state of one stream at one version.

    Attributes:
        version: Of the last event that is folded into it.
        rules: The version of what folded it, ``v1``.
        state: The state as JSON.
    """

    stream: str
    version: int
    rules: str
    state: bytes

    def decoded(self, kind: type[msgspec.Struct]) -> Any:
        """Return the state in it; ``None`` if it is damaged."""
        try:
            return msgspec.json.decode(self.state, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            log.warning("snapshot_damaged", stream=self.stream, why=type(error).__name__)
            return None


def snapshots_away(error: Exception) -> SnapshotsUnavailable:
    """Return what is raised where the database of snapshots is away with *error*."""
    return SnapshotsUnavailable(str(error))


class Snapshots:
    """The snapshots in *database*.  Use as ``async with``."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._turn = asyncio.Lock()
        self._writing: set[asyncio.Task[None]] = set()
        self._closed = False

    @classmethod
    def in_file(cls, path: Path) -> Self:
        """Return those in the SQLite file *path* of an open log."""
        return cls(
            SqliteDatabase(
                path,
                [_SQLITE_TABLE],
                thread="snapshots",
                unavailable=snapshots_away,
                lock_timeout_s=LOCK_TIMEOUT_S,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what still waits, as far as `LEAVE_S` allows."""
        self._closed = True
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await asyncio.gather(*self._writing, return_exceptions=True)
        finally:
            await self._database.close()

    async def find(self, stream: str, rules: str) -> Snapshot | None:
        """Return the newest snapshot of *stream* by *rules*, if there is one to be had."""
        try:
            rows = await self._database.fetch(_NEWEST, stream, rules)
        except SnapshotsUnavailable as error:
            log.warning("snapshot_not_read", stream=stream, why=str(error))
            return None
        return Snapshot(*rows[0]) if rows else None

    async def every(self) -> AsyncIterator[Snapshot]:
        """Yield all there are, by whichever rules.

        Raises:
            SnapshotsUnavailable: They cannot be read now.
        """
        after: tuple[str, int] = ("", -1)
        while rows := await self._database.fetch(_PAGE, *after):
            for row in rows:
                yield Snapshot(*row)
            after = (rows[-1][0], rows[-1][1])

    def submit(self, snapshot: Snapshot) -> None:
        """Keep *snapshot* soon, in the place of older ones of its stream, or not at all."""
        if not self._closed and len(self._writing) < WAITING:
            writing = asyncio.create_task(self._write(snapshot), name="snapshot")
            self._writing.add(writing)
            writing.add_done_callback(self._writing.discard)

    async def _write(self, snapshot: Snapshot) -> None:
        def write() -> Work[None]:
            yield _ADD, snapshot.stream, snapshot.version, snapshot.rules, snapshot.state
            yield _DROP_OLD, snapshot.stream, snapshot.version

        try:
            async with self._turn:  # a crowd of them takes one connection
                await self._database.transact(write())
        except SnapshotsUnavailable as error:
            log.warning("snapshot_not_written", stream=snapshot.stream, why=str(error))


_SQLITE_TABLE = """
CREATE TABLE IF NOT EXISTS snapshots (
originator_id TEXT, originator_version INTEGER, topic TEXT, state BLOB,
PRIMARY KEY (originator_id, originator_version)) WITHOUT ROWID
"""
_COLUMNS = "originator_id, originator_version, topic, state"
_NEWEST = f"""
SELECT {_COLUMNS} FROM snapshots
WHERE originator_id = $1 AND topic = $2 ORDER BY originator_version DESC LIMIT 1
"""  # noqa: S608
_PAGE = f"""
SELECT {_COLUMNS} FROM snapshots WHERE (originator_id, originator_version) > ($1, $2)
ORDER BY originator_id, originator_version LIMIT 100
"""  # noqa: S608
_ADD = f"""
INSERT INTO snapshots ({_COLUMNS}) VALUES ($1, $2, $3, $4)
ON CONFLICT (originator_id, originator_version) DO UPDATE
SET topic = excluded.topic, state = excluded.state
"""  # noqa: S608
_DROP_OLD = "DELETE FROM snapshots WHERE originator_id = $1 AND originator_version < $2"
