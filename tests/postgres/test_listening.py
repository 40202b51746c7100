"""One way to wait for notifications of PostgreSQL, for whoever does."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cs.postgres.errors import DatabaseUnavailable
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


@pytest.fixture
async def listener(pool: Pool) -> AsyncIterator[Listener]:
    listener = Listener(pool, "x")
    yield listener
    await listener.close()


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


async def test_a_notification_between_connect_and_wait_is_not_missed(
    listener: Listener, other: Pool
) -> None:
    await listener.connect()
    await other.execute("NOTIFY x")

    assert await listener.wait(NEVER_S)


async def test_without_a_notification_the_wait_is_over_in_time(
    listener: Listener, other: Pool
) -> None:
    await listener.connect()
    await other.execute("NOTIFY y")

    assert not await listener.wait(0.05)
    await listener.check()


async def test_an_ended_connection_is_an_error_at_once_and_the_next_one_listens(
    listener: Listener, other: Pool
) -> None:
    await listener.connect()
    await _end_backends(other)
    with pytest.raises(DatabaseUnavailable):
        await listener.wait(NEVER_S)

    await listener.connect()
    await other.execute("NOTIFY x")

    assert await listener.wait(NEVER_S)
    assert await _backends(other) == 1


async def test_a_connection_that_does_not_answer_is_given_up(
    listener: Listener, other: Pool
) -> None:
    await listener.connect()
    await _end_backends(other)
    with pytest.raises(DatabaseUnavailable):
        await listener.check()

    await listener.connect()
    await listener.check()


async def test_payloads_are_handed_over_and_do_not_end_the_wait(
    pool: Pool, other: Pool
) -> None:
    payloads = asyncio.Queue[str]()
    listener = Listener(pool, "x", payloads.put_nowait)
    await listener.connect()
    await other.execute("SELECT pg_notify('x', 'some')")
    async with asyncio.timeout(5):
        assert await payloads.get() == "some"

    assert not await listener.wait(0.02)
    await listener.close()


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


async def test_a_closed_listener_holds_no_connection(listener: Listener, other: Pool) -> None:
    await listener.connect()
    await listener.close()

    async with asyncio.timeout(5):
        while await _backends(other):
            pass


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
