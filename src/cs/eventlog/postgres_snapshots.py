"""Snapshots in the log's own database, in the snapshot table of the eventsourcing library.

Their commits are not waited for by the disk: a lost snapshot costs a longer fold, and the
write-ahead log keeps the order, so none outlives the events it was made of.
"""

import asyncio
from collections.abc import Sequence
from typing import Self

import asyncpg
from structlog import get_logger

from cs.eventlog.snapshots import Snapshot
from cs.postgres.errors import DatabaseAway
from cs.postgres.pool import Pool, connected, transaction

log = get_logger()

#: Streams whose snapshots may wait to be written; more are not kept this time.
WAITING = 1_000

_FAILED = (DatabaseAway, asyncpg.PostgresError)


class PostgresSnapshots:
    """Use as ``async with``."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: dict[str, Snapshot] = {}
        self._some = asyncio.Event()
        self._closed = False
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._drain(), name="snapshots")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Write what still waits."""
        assert self._task is not None
        self._closed = True
        self._some.set()
        await self._task

    async def find(self, stream: str, shape: str) -> Snapshot | None:
        waiting = self._waiting.get(stream)
        if waiting is not None and waiting.shape == shape:
            return waiting
        try:
            async with connected(self._pool) as connection:
                row = await connection.fetchrow(_NEWEST, stream, shape)
        except _FAILED as error:
            log.warning("snapshot_not_read", stream=stream, why=str(error))
            return None
        return None if row is None else Snapshot(*row)

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
            if not batch:
                continue
            try:
                await self._write(batch)
            except _FAILED as error:
                log.warning("snapshots_not_written", streams=len(batch), why=str(error))

    async def _write(self, snapshots: Sequence[Snapshot]) -> None:
        """Let each take the place of older ones of its stream and shape."""
        rows = [(new.stream, new.version, new.shape, new.state) for new in snapshots]
        columns = [list(column) for column in zip(*rows, strict=True)]
        async with transaction(self._pool) as connection:
            await connection.execute("SET LOCAL synchronous_commit = off")
            await connection.execute(_ADD, *columns)
            await connection.execute(_DROP_OLD, columns[0], columns[2])


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
