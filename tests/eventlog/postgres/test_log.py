import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from contracts.event_log import EventLogContract, units
from contracts.event_log_ceiling import CeilingContract, start
from contracts.event_log_people import PeopleContract
from cs.domain.brand.events import LookupStarted
from cs.domain.codec import every_version
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    CeilingReached,
    LogUnavailable,
    WrongExpectedVersion,
)
from cs.eventlog.postgres import PostgresEventLog
from cs.postgres.pool import Pool, open_pool
from domain.golden_files import golden_event, golden_events
from eventlog.restarted_log import Open, RestartedLogContract
from eventlog.sqlite.test_log import ABOUT_PEOPLE
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated


@pytest.fixture
def keys() -> MemoryKeyStore:
    return MemoryKeyStore()


@pytest.fixture
async def pool(every_database: str) -> AsyncIterator[Pool]:
    async with migrated(every_database) as pool:
        yield pool


@pytest.fixture
async def log(pool: Pool, keys: MemoryKeyStore) -> AsyncIterator[PostgresEventLog]:
    async with PostgresEventLog(pool, keys) as log:
        yield log


class TestPostgresEventLog(
    EventLogContract, CeilingContract, PeopleContract, RestartedLogContract
):
    @pytest.fixture
    def opened(self, pool: Pool) -> Open:
        return partial(PostgresEventLog, pool)


async def test_lookup_starts_that_were_lost_are_rebuilt_from_the_log(
    log: PostgresEventLog, pool: Pool
) -> None:
    started = golden_event("brand.lookup-started.v1")
    await log.append([Append("brand-a", NO_STREAM, [started, *units(1)])])
    assert await pool.fetchval("SELECT count(*) FROM lookup_starts") == 0  # as if emptied

    with pytest.raises(CeilingReached):
        await start(log, 1, started.at, 1)
    await start(log, 1, started.at, 2)

    assert await pool.fetchval("SELECT max(number) FROM lookup_starts") == 2


async def test_starts_of_later_versions_count_also_where_they_cannot_be_read(
    log: PostgresEventLog, pool: Pool
) -> None:
    started = golden_event("brand.lookup-started.v1")
    await log.append([Append("brand-a", NO_STREAM, [started])])
    await pool.execute("UPDATE stored_events SET topic = 'brand.lookup-started.v2'")

    with pytest.raises(CeilingReached):
        await start(log, 1, started.at, 1)


async def test_the_schema_looks_for_every_version_of_a_start_by_its_own_index(
    log: PostgresEventLog, pool: Pool
) -> None:
    every = f"topic LIKE '{every_version(LookupStarted)}%'"
    await log.append([Append("brand-a", NO_STREAM, golden_events("brand"))])

    function = await pool.fetchval("SELECT pg_get_functiondef('newest_lookup_start'::regproc)")
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off")
        plan = await connection.fetch(
            f"EXPLAIN SELECT notification_id, state FROM stored_events WHERE {every}"
        )

    assert f"FROM stored_events WHERE {every}" in function
    assert "lookup_started_any" in "".join(row[0] for row in plan)


# Personal values in the database.


async def test_no_table_tells_who_was_found(log: PostgresEventLog, pool: Pool) -> None:
    await log.append([Append("brand-5f0c", NO_STREAM, golden_events("brand"))])

    rows = await pool.fetch("SELECT originator_id, topic, state FROM stored_events")
    stored = b"".join(
        row["originator_id"].encode() + row["topic"].encode() + row["state"] for row in rows
    )
    assert b"linkedin.com/company/acme" in stored
    assert [text for text in ABOUT_PEOPLE if text.encode() in stored] == []


# One request at fault.


async def test_a_request_that_cannot_be_sent_leaves_its_batch_alone(
    log: PostgresEventLog,
) -> None:
    streams = ["key-a", "key-\0", "key-\ud800", "key-b"]
    answers = await asyncio.gather(
        *(log.append([Append(stream, NO_STREAM, units(1))]) for stream in streams),
        return_exceptions=True,
    )

    kinds = [type(answer) for answer in answers]
    assert kinds == [int, LogUnavailable, LogUnavailable, int]
    assert [r.stream for r in await log.tail(0)] == ["key-a", "key-b"]


async def test_somebody_who_writes_without_the_lock_is_a_conflict_and_no_more(
    log: PostgresEventLog, pool: Pool
) -> None:
    async with pool.acquire() as stranger, stranger.transaction():
        await stranger.execute(
            "INSERT INTO stored_events VALUES ('key-a', 0, 'key.revoked.v1', '{}', 1)"
        )
        appending = [
            asyncio.create_task(log.append([Append(stream, NO_STREAM, units(1))]))
            for stream in ("key-a", "key-b")
        ]
        await waits_for_a_lock(pool)

    answers = await asyncio.gather(*appending, return_exceptions=True)
    assert [type(answer) for answer in answers] == [WrongExpectedVersion, int]
    assert answers[1] == 2


async def waits_for_a_lock(pool: Pool) -> int:
    """Return the process of the database that waits for a lock, when one does."""
    async with asyncio.timeout(10):
        while True:
            pid: int | None = await pool.fetchval(
                "SELECT pid FROM pg_locks WHERE NOT granted LIMIT 1"
            )
            if pid is not None:
                return pid


# What others do to the table.


async def test_appends_do_not_wait_for_a_vacuum(log: PostgresEventLog, pool: Pool) -> None:
    async with pool.acquire() as vacuum, vacuum.transaction():
        # What VACUUM holds, for as long as this test wants.
        await vacuum.execute("LOCK TABLE stored_events IN SHARE UPDATE EXCLUSIVE MODE")

        async with asyncio.timeout(5):
            assert await log.append([Append("key-a", NO_STREAM, units(1))]) == 1


async def test_a_database_without_the_schema_is_reported(every_database: str) -> None:
    async with (
        open_pool(every_database, role="test") as pool,
        PostgresEventLog(pool, MemoryKeyStore()) as log,
    ):
        with pytest.raises(LogUnavailable, match="cs db migrate"):
            await log.append([Append("key-a", NO_STREAM, units(1))])
        with pytest.raises(LogUnavailable, match="stored_events"):
            await log.read("key-a")


async def test_an_event_that_is_missing_is_damage(log: PostgresEventLog, pool: Pool) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1, 2, 3))])
    await pool.execute("DELETE FROM stored_events WHERE notification_id = 2")

    with pytest.raises(LogUnavailable, match="an event of key-a is missing"):
        await log.read("key-a")
    async with PostgresEventLog(pool, MemoryKeyStore()) as late:
        with pytest.raises(LogUnavailable, match="an event after 0 is missing"):
            await late.tail(0)


async def test_an_event_that_was_changed_is_reported_by_its_place(
    log: PostgresEventLog, pool: Pool
) -> None:
    await log.append([Append("key-a", NO_STREAM, units(1, 2, 3))])
    await pool.execute("UPDATE stored_events SET state = 'x' WHERE notification_id = 2")

    with pytest.raises(LogUnavailable, match="event 2, key-a version 1, is damaged"):
        await log.read("key-a")


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
