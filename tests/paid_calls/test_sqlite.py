import sqlite3
import stat
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from contracts.call_register import CALL, CallRegisterContract, answered, begin
from cs.paid_calls.errors import CallsUnavailable, WrongCallsKey
from cs.paid_calls.port import CallInFlight, CallLease, CallRegister, KnownAnswer, LostAnswer
from cs.paid_calls.sqlite import SqliteCalls
from cs.runtime.private_files import DeletedDataRemains


def key() -> bytes:
    return b"k" * 32


SECRET = b"Ada Kern, ada.kern@acme.example"


class Shifted:
    """The machine's seconds, and what a test adds to them."""

    def __init__(self) -> None:
        self.by_s = 0.0

    def __call__(self) -> float:
        return time.time() + self.by_s


SHIFTED = Shifted()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "calls.db"


@pytest.fixture
async def calls(file: Path) -> AsyncIterator[SqliteCalls]:
    async with SqliteCalls(file, key, now=SHIFTED) as calls:
        yield calls


class TestSqliteCalls(CallRegisterContract):
    async def an_hour_later(self, calls: CallRegister) -> None:
        del calls
        SHIFTED.by_s += 3601


async def test_calls_outlive_the_process(file: Path) -> None:
    async with SqliteCalls(file, key) as before:
        await answered(before, b"said")

    async with SqliteCalls(file, key) as after:
        assert await begin(after) == KnownAnswer(b"said")


async def test_a_lease_of_a_process_that_ended_runs_on_and_out(file: Path) -> None:
    async with SqliteCalls(file, key, now=SHIFTED) as before:
        begun = await begin(before)

    async with SqliteCalls(file, key, now=SHIFTED) as after:
        assert isinstance(await begin(after), CallInFlight)
        SHIFTED.by_s += 61
        assert await begin(after) == LostAnswer()
        again = await begin(after, again=True)

    assert isinstance(begun, CallLease)
    assert isinstance(again, CallLease)
    assert again.idempotency_key == begun.idempotency_key


async def test_a_call_begun_by_a_clock_that_was_ahead_is_in_flight_no_longer(
    file: Path,
) -> None:
    month_s = 30 * 86_400.0
    async with SqliteCalls(file, key, now=lambda: SHIFTED() + month_s) as before:
        await begin(before)

    async with SqliteCalls(file, key, now=SHIFTED) as after:
        assert await begin(after) == LostAnswer()
        (call,) = await after.remembered([CALL.lookup])
        assert await after.forget_old() == 0
        (an_hour,) = await after.remembered([CALL.lookup])
        SHIFTED.by_s += 3601
        assert await after.forget_old() == 1

    assert (call.left_s > month_s, an_hour.left_s <= 3600) == (True, True)


async def test_before_the_first_call_there_is_no_file(calls: SqliteCalls, file: Path) -> None:
    assert (await calls.forget_old(), await calls.erase([CALL.lookup])) == (0, 0)
    assert list(file.parent.iterdir()) == []

    await begin(calls)

    assert file in file.parent.iterdir()


async def test_what_was_begun_is_on_the_disk_before_the_call_is_made(
    calls: SqliteCalls,
) -> None:
    await begin(calls)

    assert calls._file.db.execute("PRAGMA synchronous").fetchone() == (2,), "FULL"


@pytest.mark.parametrize("lacking", ["folder", "key"])
async def test_a_register_that_cannot_be_opened_makes_no_call_until_it_can(
    tmp_path: Path, lacking: str
) -> None:
    folder, key_file = tmp_path / "data", tmp_path / "key"
    if lacking == "key":
        folder.mkdir()
    else:
        key_file.write_bytes(b"k" * 32)
    async with SqliteCalls(folder / "calls.db", key_file.read_bytes) as calls:
        with pytest.raises(CallsUnavailable, match=r"No such file|unable to open"):
            await begin(calls)

        folder.mkdir(exist_ok=True)
        key_file.write_bytes(b"k" * 32)
        assert isinstance(await begin(calls), CallLease)


async def test_two_on_one_file_share_what_is_known(calls: SqliteCalls, file: Path) -> None:
    async with SqliteCalls(file, key) as beside:
        await answered(calls, b"said")
        assert await begin(beside) == KnownAnswer(b"said")
        assert await beside.erase([CALL.lookup]) == 1

    assert isinstance(await begin(calls), CallLease)


async def test_the_file_is_for_this_user_only(calls: SqliteCalls, file: Path) -> None:
    await answered(calls, SECRET)

    files = list(file.parent.iterdir())
    assert len(files) == 3, "the file, its write-ahead log and their index"
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}


async def test_neither_question_nor_answer_is_in_the_files(
    calls: SqliteCalls, file: Path
) -> None:
    await answered(calls, SECRET)

    stored = b"".join(each.read_bytes() for each in file.parent.iterdir())
    assert CALL.lookup.encode() in stored
    assert CALL.request not in stored
    assert SECRET not in stored


async def test_after_erasing_not_even_the_sealed_bytes_are_in_the_files(
    calls: SqliteCalls, file: Path
) -> None:
    await answered(calls, SECRET)
    with sqlite3.connect(file) as beside:
        ((box,),) = beside.execute("SELECT answer FROM calls").fetchall()
    beside.close()

    await calls.erase([CALL.lookup])

    assert not any(box in each.read_bytes() for each in file.parent.iterdir())


async def test_while_another_process_reads_erasing_says_what_is_left(file: Path) -> None:
    async with SqliteCalls(file, key, lock_timeout_s=0) as calls:
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


async def test_with_another_key_no_call_is_made_a_second_time(
    calls: SqliteCalls, file: Path
) -> None:
    await answered(calls, SECRET)

    async with SqliteCalls(file, lambda: b"n" * 32, now=SHIFTED) as other:
        with pytest.raises(WrongCallsKey, match="another key"):
            await begin(other)
        SHIFTED.by_s += 3601
        assert await other.forget_old() == 1
        assert isinstance(await begin(other), CallLease)

    with pytest.raises(WrongCallsKey):
        await begin(calls)


async def test_a_damaged_answer_is_not_asked_for_again(calls: SqliteCalls, file: Path) -> None:
    await answered(calls, SECRET)
    with sqlite3.connect(file) as beside:
        beside.execute("UPDATE calls SET answer = zeroblob(40)")
    beside.close()

    with pytest.raises(CallsUnavailable, match="damaged"):
        await begin(calls)


async def test_a_file_that_is_locked_for_long_makes_no_call(file: Path) -> None:
    async with SqliteCalls(file, key, lock_timeout_s=0) as calls:
        holder = sqlite3.connect(file, isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")

        with pytest.raises(CallsUnavailable, match="locked"):
            await begin(calls)

        holder.close()
        assert isinstance(await begin(calls), CallLease)
