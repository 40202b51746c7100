"""Appends to PostgreSQL whose answer is lost: before the commit, or after it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from contracts.event_log import AT, said, units
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    AppendInDoubt,
    Ceiling,
    CeilingReached,
    EventLog,
    LogUnavailable,
    WrongExpectedVersion,
)
from eventlog.postgres.test_log import waits_for_a_lock
from harness.memory_keys import MemoryKeyStore
from harness.places import log_in, open_database
from postgres.cutting_proxy import CuttingProxy, cutting_proxy

#: That of ``append_events``.
LOCK = "SELECT pg_advisory_xact_lock(1668505452)"


@pytest.fixture
async def proxy(migrated: str) -> AsyncIterator[CuttingProxy]:
    async with cutting_proxy(migrated) as proxy:
        yield proxy


@pytest.fixture
async def log(proxy: CuttingProxy) -> AsyncIterator[EventLog]:
    """A log behind the proxy, its statements prepared."""
    async with (
        open_database(proxy.dsn) as pool,
        log_in(pool, MemoryKeyStore()) as log,
    ):
        await log.append([Append("key-a", NO_STREAM, units(1))])
        yield log


async def test_what_was_stored_before_its_answer_was_lost_is_stored_once(
    log: EventLog, proxy: CuttingProxy
) -> None:
    proxy.armed = True
    position = await log.append([Append("key-a", 0, units(2, 3))])

    assert proxy.lost == 1
    assert position == 3
    assert said(await log.read("key-a")) == [1, 2, 3]
    assert said(await log.tail(0)) == [1, 2, 3]


async def test_each_of_a_batch_in_doubt_hears_its_own_answer(
    log: EventLog, proxy: CuttingProxy
) -> None:
    proxy.armed = True
    answers = await asyncio.gather(
        log.append([Append("key-a", 0, units(2)), Append("key-c", NO_STREAM, units(3))]),
        log.append([Append("key-a", NO_STREAM, units(9))]),
        log.append([Append("key-b", NO_STREAM, units(4))]),
        return_exceptions=True,
    )

    assert proxy.lost == 1
    assert (answers[0], answers[2]) == (3, 4)
    assert isinstance(answers[1], WrongExpectedVersion)
    assert said(await log.tail(0)) == [1, 2, 3, 4]


async def test_a_start_whose_answer_was_lost_counts_once(
    log: EventLog, proxy: CuttingProxy, pool: Any
) -> None:
    proxy.armed = True
    await log.append([Append("brand-a", NO_STREAM, units(2))], Ceiling(AT, 2))

    assert proxy.lost == 1
    assert await pool.fetchval("SELECT count(*) FROM lookup_starts") == 1
    await log.append([Append("brand-b", NO_STREAM, units(3))], Ceiling(AT, 2))
    with pytest.raises(CeilingReached):
        await log.append([Append("brand-c", NO_STREAM, units(4))], Ceiling(AT, 2))


async def test_a_backend_killed_in_mid_append_loses_nothing(log: EventLog, pool: Any) -> None:
    async with pool.acquire() as holder, holder.transaction():
        await holder.execute(LOCK)
        appending = [
            asyncio.create_task(log.append([Append(f"key-{n}", NO_STREAM, units(n))]))
            for n in range(5)
        ]
        killed = await waits_for_a_lock(pool)
        await pool.execute("SELECT pg_terminate_backend($1)", killed)
        async with asyncio.timeout(10):
            while await waits_for_a_lock(pool) == killed:
                pass

    assert sorted(await asyncio.gather(*appending)) == [2, 3, 4, 5, 6]
    assert said(await log.tail(1)) == [0, 1, 2, 3, 4]


async def test_what_another_stored_meanwhile_is_a_conflict(log: EventLog, pool: Any) -> None:
    async with log_in(pool, MemoryKeyStore()) as other:
        async with pool.acquire() as holder, holder.transaction():
            await holder.execute(LOCK)
            appending = asyncio.create_task(log.append([Append("key-a", 0, units(2))]))
            killed = await waits_for_a_lock(pool)
            theirs = asyncio.create_task(other.append([Append("key-a", 0, units(3))]))
            async with asyncio.timeout(10):
                while (
                    await pool.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted") != 2
                ):
                    pass
            await pool.execute("SELECT pg_terminate_backend($1)", killed)

        assert await theirs == 2
        with pytest.raises(WrongExpectedVersion):
            await appending
        assert said(await other.read("key-a")) == [1, 3]


async def test_what_cannot_be_known_in_time_is_reported_as_such(
    log: EventLog,
    proxy: CuttingProxy,
    pool: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.eventlog.postgres.IN_DOUBT_S", 0.2)
    async with pool.acquire() as holder, holder.transaction():
        await holder.execute(LOCK)
        appending = asyncio.create_task(log.append([Append("key-a", 0, units(2))]))
        await waits_for_a_lock(pool)
        proxy.shut()
        proxy.cut()

        with pytest.raises(AppendInDoubt, match="what was stored is not known"):
            await appending
    with pytest.raises(LogUnavailable, match="nothing was stored") as refused:
        await log.append([Append("key-b", NO_STREAM, units(2))])
    assert not isinstance(refused.value, AppendInDoubt)

    await proxy.open()
    at = len(await log.read("key-a")) - 1
    await log.append([Append("key-a", at, units(3))])
    assert said(await log.read("key-a"))[-1] == 3


async def test_an_append_on_a_connection_that_died_while_idle_is_stored_once(
    log: EventLog, proxy: CuttingProxy
) -> None:
    proxy.cut()
    await log.head()  # on another connection: by then this one is known to be gone

    with capture_logs() as lines:
        assert await log.append([Append("key-a", 0, units(2))]) == 2

    assert "appends_in_doubt" not in {line["event"] for line in lines}
    assert said(await log.read("key-a")) == [1, 2]
