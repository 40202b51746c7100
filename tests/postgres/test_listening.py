"""One way to wait for notifications of PostgreSQL, for whoever does."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cs.postgres.listening import Listener, notifications
from cs.postgres.pool import Pool, open_pool

#: Nobody waits so long here: whoever would has missed something.
NEVER_S = 30.0


@pytest.fixture
async def pool(database: str) -> AsyncIterator[Pool]:
    async with open_pool(database, role="listener") as pool:
        yield pool


@pytest.fixture
async def other(database: str) -> AsyncIterator[Pool]:
    async with open_pool(database, role="notifier") as pool:
        yield pool


async def _backends(other: Pool) -> int:
    found: int = await other.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cs listener' "
        "AND datname = current_database()"
    )
    return found


async def _end_backends(other: Pool) -> None:
    await other.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
        "WHERE application_name = 'cs listener' AND datname = current_database()"
    )


async def test_notifications_of_one_s_own_backend_are_passed_over(
    pool: Pool, other: Pool
) -> None:
    payloads = asyncio.Queue[str]()
    async with pool.acquire() as own:
        listener = Listener(pool, "x", payloads.put_nowait, own_backend=own.get_server_pid)
        await listener.connect()
        await own.execute("SELECT pg_notify('x', 'own')")
        await other.execute("SELECT pg_notify('x', 'of another')")
        async with asyncio.timeout(5):
            assert await payloads.get() == "of another"
    await listener.close()


async def test_notifications_come_first_then_with_every_notice_then_after_the_poll(
    pool: Pool, other: Pool
) -> None:
    noticed = notifications(pool, "x", poll_s=NEVER_S)
    await anext(noticed)
    notice = asyncio.ensure_future(anext(noticed))
    await other.execute("NOTIFY x")
    async with asyncio.timeout(5):
        await notice
    await noticed.aclose()  # type: ignore[attr-defined]  # it is a generator

    polled = notifications(pool, "y", poll_s=0.02)
    async with asyncio.timeout(5):
        for _ in range(3):
            await anext(polled)
    await polled.aclose()  # type: ignore[attr-defined]


async def test_notifications_go_on_over_a_connection_that_was_lost(
    pool: Pool, other: Pool
) -> None:
    noticed = notifications(pool, "x", poll_s=0.2)
    await anext(noticed)
    await _end_backends(other)
    async with asyncio.timeout(5):
        for _ in range(3):
            await anext(noticed)

    assert await _backends(other) == 1
    await noticed.aclose()  # type: ignore[attr-defined]
    async with asyncio.timeout(5):
        while await _backends(other):
            pass
