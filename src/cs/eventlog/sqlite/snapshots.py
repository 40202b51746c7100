"""Snapshots in the log's own SQLite file, in the snapshot table of the eventsourcing library.

In the log's file, so that a backup brings back both or neither.  Their commits are not
waited for by the disk: a lost snapshot costs a longer fold, and SQLite's write-ahead log
keeps the order, so none outlives the events it was made of.
"""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from eventsourcing.persistence import PersistenceError
from eventsourcing.sqlite import SQLiteAggregateRecorder, SQLiteDatastore

from cs.eventlog.errors import SnapshotsUnavailable
from cs.eventlog.snapshot_writer import SnapshotWriter
from cs.eventlog.snapshots import Snapshot
from cs.sqlite.database import transaction

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
            with transaction(cursor):
                for new in snapshots:
                    row = (new.stream, new.version, new.shape, new.state)
                    cursor.execute(_ADD, row)
                    cursor.execute(_DROP_OLD, (new.stream, new.shape))


class SqliteSnapshots(SnapshotWriter):
    """In the file *path* of an open log; see `SnapshotWriter`."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._datastore = SQLiteDatastore(
            f"file:{path}",
            lock_timeout=LOCK_TIMEOUT_S,
            pool_size=3,
            originator_id_type="text",
        )
        self._recorder = SnapshotRecorder(self._datastore)

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._recorder.create_table)
        return await super().__aenter__()

    async def __aexit__(self, *error: object) -> None:
        try:
            await super().__aexit__(*error)
        finally:
            self._datastore.close()

    async def _newest(self, stream: str, shape: str) -> Snapshot | None:
        with _translate_errors():
            return await asyncio.to_thread(self._recorder.newest, stream, shape)

    async def _write(self, snapshots: Sequence[Snapshot]) -> None:
        with _translate_errors():
            await asyncio.to_thread(self._recorder.write, snapshots)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (PersistenceError, sqlite3.Error) as error:
        raise SnapshotsUnavailable(str(error)) from error


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
