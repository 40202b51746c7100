"""Followers of a log in PostgreSQL hear of growth at once, and in the end whatever fails."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from contracts.event_log import said, units
from cs.eventlog.port import NO_STREAM, Append, EventLog
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in, open_database

#: A backend shows its last query: a listening one asks for the last position only.
LISTENING = """
SELECT pid FROM pg_stat_activity WHERE application_name = 'cs here'
AND query LIKE 'SELECT COALESCE(max(notification_id)%'
"""


@pytest.fixture
async def other(migrated: str) -> AsyncIterator[EventLog]:
    async with open_database(migrated) as pool, log_in(pool, MemoryKeyStore()) as log:
        yield log


@pytest.fixture
async def pool(migrated: str) -> AsyncIterator[Any]:
    async with open_database(migrated, role="here") as pool:
        yield pool


@pytest.fixture
async def log(pool: Any) -> AsyncIterator[EventLog]:
    async with log_in(pool, MemoryKeyStore()) as log:
        yield log


async def _heard(log: EventLog, other: EventLog, version: int) -> float:
    """Return how many seconds another's append takes to reach who waits for it."""
    head = await log.head()
    waiting = asyncio.create_task(log.grown(head))
    await other.append([Append("key-a", version - 1, units(version))])
    at = time.monotonic()
    async with asyncio.timeout(10):
        await waiting
    return time.monotonic() - at


async def test_another_s_append_is_heard_at_once_without_looking(
    log: EventLog, other: EventLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.eventlog.postgres.POLL_S", 3600)
    await _listens(log)

    assert await _heard(log, other, 0) < 0.5
    assert said(await log.tail(0)) == [0]


async def test_an_append_whose_notification_was_lost_is_found_by_looking(
    other: EventLog, pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.eventlog.postgres.CHANNEL", "nothing_is_reported_here")
    monkeypatch.setattr("cs.eventlog.postgres.POLL_S", 0.05)
    async with log_in(pool, MemoryKeyStore()) as deaf:
        await _listens(deaf)
        assert await _heard(deaf, other, 0) < 5


async def test_a_killed_listening_connection_is_replaced(
    log: EventLog,
    other: EventLog,
    pool: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.eventlog.postgres.POLL_S", 3600)
    await _listens(log)
    killed = await _pids(pool)
    await pool.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", killed)
    await _heard(log, other, 0)  # sooner or later: it looks when it listens again
    async with asyncio.timeout(10):
        while not set(await _pids(pool)) - set(killed):
            pass

    assert await _heard(log, other, 1) < 0.5
    assert said(await log.tail(0)) == [0, 1]


async def test_the_end_of_a_log_frees_the_connections_it_kept(
    pool: Any, other: EventLog
) -> None:
    async with log_in(pool, MemoryKeyStore()) as log:
        await _listens(log)
        await log.append([Append("key-a", NO_STREAM, units(1))])
        assert await _pids(pool)

    async with asyncio.timeout(5):
        while await _pids(pool):
            pass
    await other.head()


async def _listens(log: Any) -> None:
    """Return when *log* has begun to listen and has looked once."""
    async with asyncio.timeout(10):
        while not log._head_known:
            await log._pool.fetchval("SELECT 1")


async def _pids(pool: Any) -> list[int]:
    """Return the backends of this pool that wait for notifications."""
    rows = await pool.fetch(LISTENING)
    return [row["pid"] for row in rows]
