import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from contracts.call_register import CALL, CallRegisterContract, answered, begin
from cs.paid_calls.errors import CallsUnavailable, WrongCallsKey
from cs.paid_calls.port import CallLease, CallRegister, KnownAnswer
from cs.paid_calls.postgres import PostgresCalls
from cs.postgres.lock_retry import LOCK_PATIENCE_MS
from cs.postgres.pool import Pool
from postgres.stages_tables import pool

__all__ = ["pool"]

KEY = b"k" * 32
SECRET = b"Ada Kern, ada.kern@acme.example"


@pytest.fixture
def calls(pool: Pool) -> PostgresCalls:
    return PostgresCalls(pool, KEY)


class TestPostgresCalls(CallRegisterContract):
    async def an_hour_later(self, calls: CallRegister) -> None:
        assert isinstance(calls, PostgresCalls)
        await calls._pool.execute("UPDATE calls SET begun_at = begun_at - interval '3601 s'")


async def test_two_workers_share_what_is_known(calls: PostgresCalls, pool: Pool) -> None:
    other = PostgresCalls(pool, KEY)

    begun = await answered(calls, b"said")

    assert await begin(other) == KnownAnswer(b"said")
    assert await other.erase([CALL.lookup]) == 1
    again = await begin(other)
    assert isinstance(again, CallLease)
    assert again.idempotency_key == begun.idempotency_key, "of whichever worker"


async def test_neither_question_nor_answer_is_in_the_table(
    calls: PostgresCalls, pool: Pool
) -> None:
    await answered(calls, SECRET)

    (row,) = await pool.fetch("SELECT * FROM calls")
    assert row["lookup"] == CALL.lookup
    stored = repr(tuple(row.values())).encode() + row["answer"]
    assert b"Ada" not in stored
    assert KEY not in stored


async def test_after_erasing_not_even_the_sealed_bytes_are_in_the_table(
    calls: PostgresCalls, pool: Pool
) -> None:
    await answered(calls, SECRET)
    await begin(calls, CallRegisterContract.others["lookup"])
    box = await pool.fetchval("SELECT answer FROM calls WHERE answer IS NOT NULL")

    await calls.erase([CALL.lookup])

    file = await in_file(pool)
    assert b"brand-a.2" in file
    assert box not in file


async def test_calls_are_begun_while_an_erasure_waits_for_a_long_transaction(
    calls: PostgresCalls, pool: Pool, database: str
) -> None:
    """A dump reads for minutes; who erases waits for it, and nobody waits for him."""
    await answered(calls, SECRET)
    box = await pool.fetchval("SELECT answer FROM calls")
    async with still_reading(database, "SELECT * FROM calls"):
        erasing = asyncio.create_task(calls.erase([CALL.lookup]))
        while not await pool.fetchval(_WAITS):
            assert not erasing.done()
        async with asyncio.timeout(LOCK_PATIENCE_MS / 1000 * 20):
            begun = await begin(calls, CallRegisterContract.others["lookup"])
            assert isinstance(begun, CallLease)
            await calls.answer(begun, b"said")
        assert not erasing.done()
    assert await erasing == 1
    assert box not in await in_file(pool)
    kept = await begin(calls, CallRegisterContract.others["lookup"])
    assert kept == KnownAnswer(b"said")


async def test_what_is_erased_is_gone_also_beside_a_transaction_that_could_have_seen_it(
    calls: PostgresCalls, pool: Pool, database: str
) -> None:
    await answered(calls, SECRET)
    box = await pool.fetchval("SELECT answer FROM calls")
    async with still_reading(database, "SELECT * FROM calls_key"):
        assert await calls.erase([CALL.lookup]) == 1

        assert box not in await in_file(pool)
    assert await calls.erase([CALL.lookup]) == 0


@asynccontextmanager
async def still_reading(database: str, what: str) -> AsyncIterator[None]:
    """Keep a transaction open that has read *what*, as a dump does for minutes."""
    connection = await asyncpg.connect(database)
    try:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.fetch(what)
            yield
    finally:
        await connection.close()


async def in_file(pool: Pool) -> bytes:
    await pool.execute("CHECKPOINT")  # what is in its file is what is in memory
    return bytes(
        await pool.fetchval("SELECT pg_read_binary_file(pg_relation_filepath('calls'))")
    )


_WAITS = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


async def test_a_worker_with_another_key_makes_no_call(
    calls: PostgresCalls, pool: Pool
) -> None:
    await answered(calls, SECRET)
    other = PostgresCalls(pool, b"n" * 32)

    with pytest.raises(WrongCallsKey, match="another key"):
        await begin(other)
    with pytest.raises(WrongCallsKey):
        await other.check_key()


async def test_a_new_key_takes_over_when_nothing_is_remembered(
    calls: PostgresCalls, pool: Pool
) -> None:
    await answered(calls, SECRET)
    await calls.erase([CALL.lookup])

    other = PostgresCalls(pool, b"n" * 32)
    await answered(other, SECRET)

    with pytest.raises(WrongCallsKey):
        await begin(PostgresCalls(pool, KEY))


async def test_who_began_calls_before_makes_none_after_another_key_took_over(
    calls: PostgresCalls, pool: Pool
) -> None:
    await answered(calls, SECRET)
    await calls.erase([CALL.lookup])
    other = PostgresCalls(pool, b"n" * 32)
    assert isinstance(await begin(other), CallLease)

    with pytest.raises(WrongCallsKey):
        await begin(calls)

    await other.erase([CALL.lookup])
    assert isinstance(await begin(calls), CallLease), "nothing is remembered any more"


async def test_nobody_takes_over_while_a_call_is_begun(
    calls: PostgresCalls, pool: Pool
) -> None:
    await calls.check_key()
    keys = (KEY, b"n" * 32)
    workers = [PostgresCalls(pool, keys[n % 2]) for n in range(12)]

    made = await asyncio.gather(*(begin(each) for each in workers), return_exceptions=True)

    assert sum(isinstance(each, CallLease) for each in made) == 1
    assert await pool.fetchval("SELECT count(*) FROM calls") == 1


async def test_a_database_that_is_away_makes_no_call(calls: PostgresCalls, pool: Pool) -> None:
    begun = await begin(calls)
    assert isinstance(begun, CallLease)
    pool.terminate()

    for asked in (
        begin(calls),
        calls.answer(begun, b"said"),
        calls.undo(begun),
        calls.forget_old(),
        calls.erase([CALL.lookup]),
        PostgresCalls(pool, KEY).check_key(),
    ):
        with pytest.raises(CallsUnavailable):
            await asked


def test_a_key_of_another_length_is_refused(pool: Pool) -> None:
    with pytest.raises(ValueError, match="31 bytes, not 32"):
        PostgresCalls(pool, b"k" * 31)
