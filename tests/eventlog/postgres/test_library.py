"""The eventsourcing library and our tables in PostgreSQL.

Its recorder for PostgreSQL wants another driver; its statements are asked here through ours,
in the columns that its recorder names.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from functools import reduce
from typing import Any
from uuid import UUID

from eventsourcing.application import Repository
from eventsourcing.persistence import EventStore, Notification, StoredEvent

from cs.domain.key import INITIAL, evolve
from cs.eventlog.mapper import Envelope, EventMapper
from cs.eventlog.port import NO_STREAM, Append, EventLog
from cs.eventlog.postgres.log import PostgresEventLog
from cs.postgres.pool import Pool
from domain.golden_files import golden_events
from eventlog.library_port import Blocking, PortRecorder
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated


class TableRecorder(PortRecorder):
    """Reads the tables as the library's recorder does; writes through the port."""

    def __init__(self, blocking: Blocking, pool: Pool) -> None:
        super().__init__(blocking)
        self._pool = pool

    def select_events(
        self,
        originator_id: UUID | str,
        *,
        gt: int | None = None,
        lte: int | None = None,
        desc: bool = False,
        limit: int | None = None,
    ) -> Sequence[StoredEvent]:
        order = "DESC" if desc else "ASC"
        rows = self._blocking.run(
            self._pool.fetch(
                "SELECT * FROM stored_events WHERE originator_id = $1 "
                "AND originator_version > $2 AND originator_version <= $3 "
                f"ORDER BY originator_version {order} LIMIT $4",
                str(originator_id),
                -1 if gt is None else gt,
                2**62 if lte is None else lte,
                limit,
            )
        )
        return [
            StoredEvent(
                row["originator_id"], row["originator_version"], row["topic"], row["state"]
            )
            for row in rows
        ]

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        del stop, topics
        rows = self._blocking.run(
            self._pool.fetch(
                "SELECT * FROM stored_events WHERE notification_id >= $1 "
                "ORDER BY notification_id LIMIT $2",
                (start or 0) + (not inclusive_of_start),
                limit,
            )
        )
        return [
            Notification(
                row["originator_id"],
                row["originator_version"],
                row["topic"],
                row["state"],
                id=row["notification_id"],
            )
            for row in rows
        ]


class Opened:
    """A log, and the pool it is on."""

    def __init__(self, dsn: str, keys: MemoryKeyStore) -> None:
        self._dsn = dsn
        self._keys = keys
        self.pool: Pool

    @asynccontextmanager
    async def log(self) -> AsyncIterator[EventLog]:
        async with migrated(self._dsn) as pool, PostgresEventLog(pool, self._keys) as log:
            self.pool = pool
            yield log


def test_the_library_reads_what_we_wrote(database: str) -> None:
    keys = MemoryKeyStore()
    brand, key = golden_events("brand"), golden_events("key")
    opened = Opened(database, keys)
    with closing(Blocking(opened.log())) as blocking:
        log = blocking.log
        blocking.run(log.append([Append("brand-5f0c", NO_STREAM, brand[:7])]))
        blocking.run(log.append([Append("key-a", NO_STREAM, key)]))
        blocking.run(log.append([Append("brand-5f0c", 6, brand[7:])]))
        recorder = TableRecorder(blocking, opened.pool)
        store = EventStore(EventMapper(blocking.run(keys.find(keys._keys))), recorder)

        assert list(store.get("brand-5f0c")) == [
            Envelope("brand-5f0c", n, event) for n, event in enumerate(brand)
        ]
        (newest,) = store.get("brand-5f0c", desc=True, limit=1)
        assert newest == Envelope("brand-5f0c", len(brand) - 1, brand[-1])
        notified = recorder.select_notifications(1, 100)
        assert [n.id for n in notified] == list(range(1, len(brand) + len(key) + 1))


def test_the_library_s_repository_folds_a_stream_of_ours(database: str) -> None:
    events = golden_events("key")
    opened = Opened(database, MemoryKeyStore())

    def fold(_: Any, envelopes: Any) -> Any:
        return reduce(lambda state, envelope: evolve(state, envelope.event), envelopes, INITIAL)

    with closing(Blocking(opened.log())) as blocking:
        blocking.run(blocking.log.append([Append("key-a", NO_STREAM, events)]))
        store = EventStore(EventMapper({}), TableRecorder(blocking, opened.pool))
        state = Repository(store).get("key-a", projector_func=fold)

    assert state == fold(None, [Envelope("key-a", n, event) for n, event in enumerate(events)])
    assert state != INITIAL


async def test_the_tables_have_the_library_s_columns_and_keys(database: str) -> None:
    async with migrated(database) as pool:
        rows = await pool.fetch(
            "SELECT table_name, column_name, data_type, is_nullable "
            "FROM information_schema.columns "
            "WHERE table_name IN ('stored_events', 'snapshots') ORDER BY 1, ordinal_position"
        )
        indexes = await pool.fetch(
            "SELECT indexname, indexdef FROM pg_indexes "
            "WHERE tablename IN ('stored_events', 'snapshots') AND indexdef LIKE '%UNIQUE%'"
        )

    common = [
        ("originator_id", "text", "NO"),
        ("originator_version", "bigint", "NO"),
        ("topic", "text", "YES"),
        ("state", "bytea", "YES"),
    ]
    assert [tuple(row)[1:] for row in rows if row[0] == "snapshots"] == common
    assert [tuple(row)[1:] for row in rows if row[0] == "stored_events"] == [
        *common,
        ("notification_id", "bigint", "NO"),
    ]
    unique = {row["indexname"]: row["indexdef"].partition("btree ")[2] for row in indexes}
    assert unique == {
        "stored_events_pkey": "(originator_id, originator_version)",
        "stored_events_notification_id_idx": "(notification_id)",
        "snapshots_pkey": "(originator_id, originator_version)",
    }
