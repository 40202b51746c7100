"""Waiting is bounded, and whatever else goes wrong inside stays what it is."""

import asyncio

import pytest

from cs.api.time_limits import within
from cs.eventlog.errors import LogUnavailable


async def test_what_takes_too_long_is_a_log_that_is_away() -> None:
    with pytest.raises(LogUnavailable, match=r"no answer within 0\.01 s") as told:
        async with within(0.01):
            await asyncio.Event().wait()

    assert isinstance(told.value.__cause__, TimeoutError)


async def test_a_time_out_of_what_is_waited_for_is_told_alike() -> None:
    with pytest.raises(LogUnavailable):
        async with within(60):
            raise TimeoutError("of a driver")


async def test_another_error_stays_what_it_is() -> None:
    with pytest.raises(KeyError):
        async with within(60):
            raise KeyError("one")


async def test_one_that_is_cancelled_is_cancelled() -> None:
    entered = asyncio.Event()

    async def wait() -> None:
        async with within(60):
            entered.set()
            await asyncio.Event().wait()

    waiting = asyncio.create_task(wait())
    await entered.wait()
    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_of_two_limits_the_one_that_passed_is_told() -> None:
    with pytest.raises(LogUnavailable, match=r"within 0\.01 s"):
        async with within(0.01), within(60):
            await asyncio.Event().wait()

    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_whoever_is_cancelled_as_the_time_passes_is_cancelled() -> None:
    async def wait() -> None:
        task = asyncio.current_task()
        assert task is not None
        async with within(0):
            asyncio.get_running_loop().call_soon(task.cancel)
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(wait())


async def test_what_is_done_in_time_leaves_no_timer() -> None:
    async with within(0):
        pass
    later = asyncio.Event()
    asyncio.get_running_loop().call_later(0, later.set)
    await later.wait()

    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()
