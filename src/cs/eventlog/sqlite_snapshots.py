"""Snapshots in the log's own SQLite file, in the snapshot table of the eventsourcing library.

In the log's file, so that a backup brings back both or neither.  Their commits are not
waited for by the disk: a lost snapshot costs a longer fold, and SQLite's write-ahead log
keeps the order, so none outlives the events it was made of.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from eventsourcing.persistence import PersistenceError
from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteDatastore
from structlog import get_logger

from cs.eventlog.snapshots import Snapshot

log = get_logger()

#: Streams whose snapshots may wait to be written; more are not kept this time.
WAITING = 1_000
#: How long to wait for whoever writes to the log.
LOCK_TIMEOUT_S = 2


class SnapshotRecorder(SQLiteAggregateRecorder):
    """The library's table: stream, version, shape (where events have a topic), state."""

    def __init__(self, datastore: SQLiteDatastore) -> None:
        super().__init__(datastore, events_table_name="snapshots")

    def newest(self, stream: str, shape: str) -> Snapshot | None:
        with self.datastore.get_connection(commit=False) as connection:
            cursor = connection.cursor()
            cursor.execute(_NEWEST, (stream, shape))
            row = cursor.fetchone()
        return None if row is None else Snapshot(*row)

    def write(self, snapshots: Sequence[Snapshot]) -> None:
        """Let each take the place of older ones of its stream and shape."""
        with self.datastore.get_connection(commit=True) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA synchronous=NORMAL")
            cursor.execute("BEGIN IMMEDIATE")
            try:
                for new in snapshots:
                    row = (new.stream, new.version, new.shape, new.state)
                    cursor.execute(_ADD, row)
                    cursor.execute(_DROP_OLD, (new.stream, new.shape))
                cursor.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    cursor.execute("ROLLBACK")
                raise


class SqliteSnapshots:
    """Use as ``async with``, beside the open log whose file *path* is."""

    def __init__(self, path: Path) -> None:
        self._datastore = SQLiteDatastore(
            f"file:{path}",
            lock_timeout=LOCK_TIMEOUT_S,
            pool_size=3,
            originator_id_type="text",
        )
        self._recorder = SnapshotRecorder(self._datastore)
        self._waiting: dict[str, Snapshot] = {}
        self._some = asyncio.Event()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._recorder.create_table)
        self._task = asyncio.create_task(self._drain(), name="snapshots")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what still waits, and close."""
        assert self._task is not None
        self._closed = True
        self._some.set()
        try:
            await self._task
        finally:
            self._datastore.close()

    async def find(self, stream: str, shape: str) -> Snapshot | None:
        waiting = self._waiting.get(stream)
        if waiting is not None and waiting.shape == shape:
            return waiting
        try:
            return await asyncio.to_thread(self._recorder.newest, stream, shape)
        except (PersistenceError, sqlite3.Error) as error:
            log.warning("snapshot_not_read", stream=stream, why=str(error))
            return None

    def offer(self, snapshot: Snapshot) -> None:
        full = len(self._waiting) >= WAITING and snapshot.stream not in self._waiting
        if full or self._closed:
            return
        self._waiting[snapshot.stream] = snapshot
        self._some.set()

    async def _drain(self) -> None:
        while self._waiting or not self._closed:
            await self._some.wait()
            if not self._closed:
                self._some.clear()
            batch, self._waiting = list(self._waiting.values()), {}
            try:
                await asyncio.to_thread(self._recorder.write, batch)
            except (PersistenceError, sqlite3.Error) as error:
                log.warning("snapshots_not_written", streams=len(batch), why=str(error))


_NEWEST = """
SELECT originator_id, originator_version, topic, state FROM snapshots
WHERE originator_id = ? AND topic = ? ORDER BY originator_version DESC LIMIT 1
"""
# Where another shape has this very version there is no place: it costs a longer fold.
_ADD = """
INSERT INTO snapshots (originator_id, originator_version, topic, state)
SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (
    SELECT 1 FROM snapshots
    WHERE originator_id = ?1 AND topic = ?3 AND originator_version > ?2
)
ON CONFLICT (originator_id, originator_version) DO UPDATE SET state = excluded.state
WHERE topic = excluded.topic
"""
_DROP_OLD = """
DELETE FROM snapshots AS old WHERE originator_id = ?1 AND EXISTS (
    SELECT 1 FROM snapshots AS new
    WHERE new.originator_id = ?1 AND new.originator_version > old.originator_version
    AND (new.topic = old.topic OR (new.topic <> ?2 AND old.topic <> ?2))
)
"""
