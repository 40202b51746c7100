"""The register of paid calls, in a SQLite file and in PostgreSQL."""

import asyncio
import sqlite3
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cs.paid_calls.errors import CallsUnavailable, WrongCallsKey
from cs.paid_calls.register import (
    PAGE,
    CallInFlight,
    CallLease,
    CallRegister,
    KnownAnswer,
    LostAnswer,
    PaidCall,
    forget_expired_calls,
)
from cs.runtime.private_files import DeletedDataRemains
from cs.runtime.sql import Database
from harness.places import KEY, Place, calls_in, stored_bytes
from keystore.test_postgres import ERASURE_WAITS

CALL = PaidCall("brand-a.1", "acme", b'{"q":"Ada Kern"}')
OTHERS = {
    "lookup": PaidCall("brand-a.2", CALL.provider, CALL.request),
    "provider": PaidCall(CALL.lookup, "other", CALL.request),
    "request": PaidCall(CALL.lookup, CALL.provider, b'{"q":"Ada"}'),
}
OTHER_KEY = b"n" * 32
SECRET = b"Ada Kern, ada.kern@acme.example"
#: Gives a register on the tables of a test, with the key.
Opened = Callable[[bytes], CallRegister]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "calls.db"


@pytest.fixture
async def opened(place: Place) -> AsyncIterator[Opened]:
    registers: list[CallRegister] = []

    def of_a_process(key: bytes) -> CallRegister:
        registers.append(calls_in(place, key))
        return registers[-1]

    yield of_a_process
    for each in registers:
        await each._database.close()


@pytest.fixture
def calls(opened: Opened) -> CallRegister:
    return opened(KEY)


async def test_the_first_caller_holds_the_lease_and_others_get_the_time_left(
    calls: CallRegister,
) -> None:
    first = await begin(calls)
    second = await begin(calls)
    third = await begin(calls, again=True)

    assert isinstance(first, CallLease)
    for other in (second, third):
        assert isinstance(other, CallInFlight)
        assert 0 < other.left_s <= 60


@pytest.mark.parametrize("answer", [b"\x00 said", b""])
async def test_an_answer_is_remembered_and_can_be_neither_given_up_nor_undone(
    calls: CallRegister, answer: bytes
) -> None:
    begun = await answered(calls, answer)

    await calls.leave(begun)
    await calls.undo(begun)

    assert await begin(calls) == KnownAnswer(answer)
    assert await begin(calls, again=True) == KnownAnswer(answer)


@pytest.mark.parametrize("differing", ["lookup", "provider", "request"])
async def test_another_question_is_another_call(calls: CallRegister, differing: str) -> None:
    begun = await answered(calls, b"said")

    other = await begin(calls, OTHERS[differing])

    assert isinstance(other, CallLease)
    assert other.idempotency_key != begun.idempotency_key


async def test_a_lost_call_that_may_be_repeated_begins_again_with_its_key(
    calls: CallRegister,
) -> None:
    first = await begin(calls, lease_s=0)
    assert [await begin(calls), await begin(calls)] == [LostAnswer()] * 2

    second = await begin(calls, again=True)

    assert isinstance(first, CallLease)
    assert isinstance(second, CallLease)
    assert first.idempotency_key == second.idempotency_key
    assert set(first.idempotency_key) <= set("0123456789abcdef")
    assert len(first.idempotency_key) == 32
    assert first.holder != second.holder
    assert isinstance(await begin(calls, again=True), CallInFlight)


async def test_an_answer_after_the_lease_counts_and_the_first_one_stays(
    calls: CallRegister,
) -> None:
    late = await begin(calls, lease_s=0)
    again = await begin(calls, again=True)
    assert isinstance(late, CallLease)
    assert isinstance(again, CallLease)

    await calls.answer(late, b"first")
    await calls.answer(again, b"second")

    assert await begin(calls) == KnownAnswer(b"first")


async def test_a_lease_given_up_is_lost_and_a_call_not_made_may_be_begun_again(
    calls: CallRegister,
) -> None:
    for end, then in ((calls.leave, LostAnswer), (calls.undo, CallLease)):
        begun = await begin(calls, again=True)
        assert isinstance(begun, CallLease)

        await end(begun)

        assert isinstance(await begin(calls), then)


async def test_a_lost_lease_can_neither_be_given_up_nor_undone(
    calls: CallRegister,
) -> None:
    old = await begin(calls, lease_s=0)
    assert isinstance(old, CallLease)
    await begin(calls, again=True)

    await calls.leave(old)
    await calls.undo(old)

    assert isinstance(await begin(calls), CallInFlight)


async def test_erasing_deletes_all_calls_of_those_lookups_and_no_others(
    calls: CallRegister,
) -> None:
    begun = await answered(calls, b"said")
    for other in OTHERS.values():
        await begin(calls, other)

    assert await calls.erase([CALL.lookup, "brand-nobody.1"]) == 3
    await calls.answer(begun, b"late")  # by a worker that knows nothing of it

    assert isinstance(await begin(calls), CallLease)
    assert isinstance(await begin(calls, OTHERS["lookup"]), CallInFlight)
    assert await calls.erase([]) == 0


async def test_remembered_calls_are_listed_without_their_answers(
    calls: CallRegister,
) -> None:
    assert await calls.remembered([CALL.lookup]) == []
    await answered(calls, b"said")
    for other in OTHERS.values():
        await begin(calls, other)

    first, *others = await calls.remembered([CALL.lookup, "brand-nobody.1"])

    assert (first.lookup, first.provider, first.answered) == (
        CALL.lookup,
        CALL.provider,
        True,
    )
    assert 3_500 < first.left_s <= 3_600
    assert sorted((each.provider, each.answered) for each in others) == sorted(
        (call.provider, False) for call in OTHERS.values() if call.lookup == CALL.lookup
    )
    assert await calls.remembered([]) == []


async def test_calls_are_forgotten_after_an_hour(calls: CallRegister) -> None:
    await answered(calls, b"said")
    await begin(calls, OTHERS["provider"])
    assert await calls.forget_old() == 0
    await calls._database.fetch(
        "UPDATE calls SET begun_at = to_timestamp(date_part('epoch', begun_at) - 3601)"
    )
    await begin(calls, OTHERS["request"])

    assert await calls.forget_old() == 2

    assert isinstance(await begin(calls), CallLease)
    assert isinstance(await begin(calls, OTHERS["request"]), CallInFlight)


async def test_two_workers_share_what_is_known(opened: Opened) -> None:
    calls, other = opened(KEY), opened(KEY)

    begun = await answered(calls, b"said")

    assert await begin(other) == KnownAnswer(b"said")
    assert await other.erase([CALL.lookup]) == 1
    again = await begin(other)
    assert isinstance(again, CallLease)
    assert again.idempotency_key == begun.idempotency_key, "of whichever worker"


async def test_a_call_begun_by_a_clock_that_was_ahead_is_in_flight_no_longer(
    calls: CallRegister,
) -> None:
    month_s = 30 * 86_400.0
    await begin(calls)
    await older(calls, -month_s)

    assert await begin(calls) == LostAnswer()
    (call,) = await calls.remembered([CALL.lookup])
    assert await calls.forget_old() == 0
    (an_hour,) = await calls.remembered([CALL.lookup])
    await older(calls, 3601)
    assert await calls.forget_old() == 1

    assert (call.left_s > month_s, an_hour.left_s <= 3600) == (True, True)


async def test_another_key_makes_no_call_while_anything_is_remembered(opened: Opened) -> None:
    calls, other = opened(KEY), opened(OTHER_KEY)
    await answered(calls, SECRET)
    with pytest.raises(WrongCallsKey, match="another key"):
        await begin(other)
    with pytest.raises(WrongCallsKey):
        await other.check_key()

    await calls.erase([CALL.lookup])
    assert isinstance(await begin(other), CallLease), "it takes over"
    with pytest.raises(WrongCallsKey):
        await begin(calls)

    await other.erase([CALL.lookup])
    assert isinstance(await begin(calls), CallLease), "nothing is remembered any more"


async def test_no_other_key_takes_over_while_a_call_is_begun(opened: Opened) -> None:
    calls = opened(KEY)
    await calls.check_key()
    workers = [opened((KEY, OTHER_KEY)[n % 2]) for n in range(12)]

    made = await asyncio.gather(*(begin(each) for each in workers), return_exceptions=True)

    assert sum(isinstance(each, CallLease) for each in made) == 1
    assert len(await calls._database.fetch("SELECT 1 FROM calls")) == 1


async def test_neither_question_nor_answer_is_stored_in_clear(calls: CallRegister) -> None:
    await answered(calls, SECRET)

    (row,) = await calls._database.fetch("SELECT lookup, provider, request, answer FROM calls")
    assert row[0] == CALL.lookup
    stored = repr(tuple(row)).encode() + row[3]
    for secret in (CALL.request, SECRET, b"Ada", KEY):
        assert secret not in stored


async def test_a_damaged_answer_is_not_asked_for_again(calls: CallRegister) -> None:
    await answered(calls, SECRET)
    await calls._database.fetch("UPDATE calls SET answer = $1", bytes(40))

    with pytest.raises(CallsUnavailable, match="damaged"):
        await begin(calls)


# In a file.


async def test_the_first_call_makes_the_file_and_only_this_user_reads_it(file: Path) -> None:
    async with calls_in(file.parent) as calls:
        assert (await calls.forget_old(), await calls.erase([CALL.lookup])) == (0, 0)
        assert await calls.remembered([CALL.lookup]) == []
        assert list(file.parent.iterdir()) == []

        await begin(calls)

        files = list(file.parent.iterdir())
        assert len(files) == 3, "the file, its write-ahead log and their index"
        assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
        assert await calls._database.fetch("PRAGMA synchronous") == [(2,)], "FULL"


@pytest.mark.parametrize("lacking", ["folder", "key"])
async def test_a_register_that_cannot_be_opened_makes_no_call_until_it_can(
    tmp_path: Path, lacking: str
) -> None:
    folder, key_file = tmp_path / "data", tmp_path / "key"
    if lacking == "key":
        folder.mkdir()
    else:
        key_file.write_bytes(KEY)
    async with CallRegister.in_file(folder / "calls.db", key_file.read_bytes) as calls:
        with pytest.raises(CallsUnavailable, match=r"No such file|unable to open"):
            await begin(calls)

        folder.mkdir(exist_ok=True)
        key_file.write_bytes(KEY)
        assert isinstance(await begin(calls), CallLease)


async def test_erasing_reports_what_is_left_while_another_process_reads(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.sqlite.database.READERS_S", 0)
    async with calls_in(file.parent, lock_timeout_s=0) as calls:
        await answered(calls, SECRET)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            ((box,),) = reader.execute("SELECT answer FROM calls").fetchall()

            forgetting: tuple[Callable[[], Awaitable[int]], ...] = (
                lambda: calls.erase([CALL.lookup]),
                lambda: calls.erase([CALL.lookup]),  # nothing is left to erase
                calls.forget_old,
            )
            for forget in forgetting:
                with pytest.raises(DeletedDataRemains) as remains:
                    await forget()
                assert remains.value.files == (str(file),)

        assert await calls.erase([CALL.lookup]) == 0
        assert not any(box in each.read_bytes() for each in file.parent.iterdir())


async def test_a_file_that_is_locked_for_long_makes_no_call(file: Path) -> None:
    async with calls_in(file.parent, lock_timeout_s=0) as calls:
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")

        with pytest.raises(CallsUnavailable, match="locked"):
            await begin(calls)

        holder.close()
        assert isinstance(await begin(calls), CallLease)


# In PostgreSQL.


async def test_erased_calls_leave_no_bytes_next_to_an_older_transaction(
    pool: Any, migrated: str
) -> None:
    calls = calls_in(pool)
    await answered(calls, SECRET)
    box = await pool.fetchval("SELECT answer FROM calls")
    older = await asyncpg.connect(migrated)
    try:
        async with older.transaction(isolation="repeatable_read"):
            await older.fetch("SELECT * FROM calls_key")
            assert await calls.erase([CALL.lookup]) == 1

            assert box not in await stored_bytes(pool, "", "calls")
    finally:
        await older.close()
    assert await calls.erase([CALL.lookup]) == 0


async def test_calls_begin_while_an_erasure_waits_for_a_long_transaction(
    pool: Any, migrated: str
) -> None:
    calls = calls_in(pool)
    await answered(calls, SECRET)
    dump = await asyncpg.connect(migrated)
    try:
        async with dump.transaction(isolation="repeatable_read"):
            await dump.fetch("SELECT * FROM calls")
            erasing = asyncio.create_task(calls.erase([CALL.lookup]))
            while not await pool.fetchval(ERASURE_WAITS):
                assert not erasing.done()
            async with asyncio.timeout(10):
                begun = await begin(calls, OTHERS["lookup"])
            assert isinstance(begun, CallLease)
            await calls.answer(begun, b"said")
            assert not erasing.done()
        assert await erasing == 1
    finally:
        await dump.close()
    assert await begin(calls, OTHERS["lookup"]) == KnownAnswer(b"said")


async def test_a_database_that_is_away_makes_no_call(pool: Any) -> None:
    calls = calls_in(pool)
    begun = await begin(calls)
    assert isinstance(begun, CallLease)
    pool.terminate()

    for asked in (
        begin(calls),
        calls.answer(begun, b"said"),
        calls.undo(begun),
        calls.forget_old(),
        calls.erase([CALL.lookup]),
        calls.check_key(),
    ):
        with pytest.raises(CallsUnavailable):
            await asked


# As time goes by.


class Counting(CallRegister):
    """Notes what was forgotten each time, and is away the first time it is asked."""

    def __init__(self, database: Database, key: Callable[[], bytes]) -> None:
        super().__init__(database, key)
        self.went: list[int] = []
        self.idle = asyncio.Event()

    async def forget_old(self) -> int:
        if not self.went:
            self.went.append(0)
            raise CallsUnavailable("away")
        self.went.append(await super().forget_old())
        if self.went[-1] == 0:
            self.idle.set()
        return self.went[-1]


async def test_old_calls_are_deleted_in_pages_also_after_the_register_was_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.paid_calls.register.EVERY_S", 0.01)
    async with Counting.in_file(None, lambda: bytes(32)) as calls:
        for number in range(PAGE + 5):
            await begin(calls, PaidCall(f"brand-a.{number}", "acme", b""))
        await calls._database.fetch("UPDATE calls SET begun_at = begun_at - 3601")

        async with forget_expired_calls(calls), asyncio.timeout(10):
            await calls.idle.wait()

    assert calls.went[:4] == [0, PAGE, 5, 0]


async def older(calls: CallRegister, by_s: float) -> None:
    """Make what *calls* knows so much older."""
    await calls._database.fetch(
        "UPDATE calls SET begun_at = to_timestamp(date_part('epoch', begun_at) - $1), "
        "lease_until = to_timestamp(date_part('epoch', lease_until) - $1)",
        by_s,
    )


async def begin(
    calls: CallRegister, call: PaidCall = CALL, *, lease_s: float = 60, again: bool = False
) -> object:
    return await calls.begin(call, lease_s=lease_s, again=again)


async def answered(calls: CallRegister, answer: bytes) -> CallLease:
    begun = await begin(calls)
    assert isinstance(begun, CallLease)
    await calls.answer(begun, answer)
    return begun
