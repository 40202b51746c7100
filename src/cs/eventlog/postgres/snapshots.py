"""Snapshots in the log's own database, in the snapshot table of the eventsourcing library.

Their commits are not waited for by the disk: a lost snapshot costs a longer fold, and the
write-ahead log keeps the order, so none outlives the events it was made of.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import asyncpg

from cs.eventlog.errors import SnapshotsUnavailable
from cs.eventlog.snapshot_writer import SnapshotWriter
from cs.eventlog.snapshots import Snapshot
from cs.postgres.errors import DatabaseUnavailable
from cs.postgres.pool import Pool, connected, transaction


class PostgresSnapshots(SnapshotWriter):
    """In the table of the eventsourcing library; see `SnapshotWriter`."""

    def __init__(self, pool: Pool) -> None:
        super().__init__()
        self._pool = pool

    async def _newest(self, stream: str, shape: str) -> Snapshot | None:
        with _translate_errors():
            async with connected(self._pool) as connection:
                row = await connection.fetchrow(_NEWEST, stream, shape)
        return None if row is None else Snapshot(*row)

    async def _write(self, snapshots: Sequence[Snapshot]) -> None:
        rows = [(new.stream, new.version, new.shape, new.state) for new in snapshots]
        columns = [list(column) for column in zip(*rows, strict=True)]
        with _translate_errors():
            async with transaction(self._pool) as connection:
                await connection.execute("SET LOCAL synchronous_commit = off")
                await connection.execute(_ADD, *columns)
                await connection.execute(_DROP_OLD, columns[0], columns[2])


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except (DatabaseUnavailable, asyncpg.PostgresError) as error:
        raise SnapshotsUnavailable(str(error)) from error


_NEWEST = """
SELECT originator_id, originator_version, topic, state FROM snapshots
WHERE originator_id = $1 AND topic = $2 ORDER BY originator_version DESC LIMIT 1
"""
# Where another shape has this very version there is no place: it costs a longer fold.
_ADD = """
INSERT INTO snapshots AS there (originator_id, originator_version, topic, state)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[])
    AS new (stream, version, shape, state)
WHERE NOT EXISTS (
    SELECT 1 FROM snapshots
    WHERE originator_id = new.stream AND topic = new.shape
    AND originator_version > new.version
)
ON CONFLICT (originator_id, originator_version) DO UPDATE SET state = excluded.state
WHERE there.topic = excluded.topic
"""
_DROP_OLD = """
DELETE FROM snapshots AS old
USING unnest($1::text[], $2::text[]) AS mine (stream, shape)
WHERE old.originator_id = mine.stream AND EXISTS (
    SELECT 1 FROM snapshots AS new
    WHERE new.originator_id = mine.stream AND new.originator_version > old.originator_version
    AND (new.topic = old.topic OR (new.topic <> mine.shape AND old.topic <> mine.shape))
)
"""
