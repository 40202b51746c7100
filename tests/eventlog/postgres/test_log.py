"""The event log in PostgreSQL, next to others who write its table."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from contracts.event_log import units
from cs.domain.brand.events import LookupStarted
from cs.domain.codec import every_version
from cs.eventlog.port import NO_STREAM, Append, EventLog, LogUnavailable, WrongExpectedVersion
from domain.golden_files import golden_events
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in, open_database


@pytest.fixture
async def pool(every_database: str) -> AsyncIterator[Any]:
    async with open_database(every_database, "service") as pool:
        yield pool


@pytest.fixture
async def log(pool: Any) -> AsyncIterator[EventLog]:
    async with log_in(pool, MemoryKeyStore()) as log:
        yield log


async def test_the_schema_looks_for_every_version_of_a_start_by_its_own_index(
    log: EventLog, pool: Any
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


# One request at fault.


async def test_a_request_that_cannot_be_sent_leaves_its_batch_alone(
    log: EventLog,
) -> None:
    streams = ["key-a", "key-\0", "key-\ud800", "key-b"]
    answers = await asyncio.gather(
        *(log.append([Append(stream, NO_STREAM, units(1))]) for stream in streams),
        return_exceptions=True,
    )

    kinds = [type(answer) for answer in answers]
    assert kinds == [int, LogUnavailable, LogUnavailable, int]
    assert [r.stream for r in await log.tail(0)] == ["key-a", "key-b"]


async def test_a_writer_without_the_lock_is_a_conflict_and_no_more(
    log: EventLog, pool: Any
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


async def waits_for_a_lock(pool: Any) -> int:
    """Return the process of the database that waits for a lock, when one does."""
    async with asyncio.timeout(10):
        while True:
            pid: int | None = await pool.fetchval(
                "SELECT pid FROM pg_locks WHERE NOT granted LIMIT 1"
            )
            if pid is not None:
                return pid


# What others do to the table.


async def test_appends_do_not_wait_for_a_vacuum(log: EventLog, pool: Any) -> None:
    async with pool.acquire() as vacuum, vacuum.transaction():
        # What VACUUM holds, for as long as this test wants.
        await vacuum.execute("LOCK TABLE stored_events IN SHARE UPDATE EXCLUSIVE MODE")

        async with asyncio.timeout(5):
            assert await log.append([Append("key-a", NO_STREAM, units(1))]) == 1


async def test_a_database_without_the_schema_is_reported(every_database: str) -> None:
    async with (
        open_database(every_database) as pool,
        log_in(pool, MemoryKeyStore()) as log,
    ):
        with pytest.raises(LogUnavailable, match="cs db migrate"):
            await log.append([Append("key-a", NO_STREAM, units(1))])
        with pytest.raises(LogUnavailable, match="stored_events"):
            await log.read("key-a")


async def test_the_tables_have_the_library_s_columns_and_keys(pool: Any) -> None:
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
