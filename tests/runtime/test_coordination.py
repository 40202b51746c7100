"""A cancellation is never lost, and a wake-up reaches all who wait."""

import asyncio

import pytest

from cs.runtime.coordination import run_cancellable


async def fails(told: asyncio.Event) -> None:
    await told.wait()
    raise OSError("gone")


async def group(told: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fails(told))


async def tries_again(told: asyncio.Event, attempts: list[int]) -> None:
    while True:
        attempts.append(len(attempts))
        try:
            await run_cancellable(group(told))
        except* OSError:
            told.clear()


@pytest.mark.parametrize("steps", range(12))
async def test_what_fails_while_it_is_ended_is_not_tried_again(steps: int) -> None:
    """Some steps after the failure it is tried again already, and ended then.

    Nothing is waited for: ``sleep(0)`` is one step of the loop, so that every moment is tried.
    """
    told, attempts = asyncio.Event(), list[int]()
    trying = asyncio.create_task(tries_again(told, attempts))
    for _ in range(5):  # until its innermost task waits
        await asyncio.sleep(0)
    told.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    before = len(attempts)

    trying.cancel()
    await asyncio.wait([trying], timeout=10)

    assert trying.cancelled()
    assert len(attempts) == before


async def test_what_it_gives_or_raises_comes_through() -> None:
    async def gives() -> int:
        return 7

    told = asyncio.Event()
    told.set()
    assert await run_cancellable(gives()) == 7
    with pytest.raises(OSError, match="gone"):
        await run_cancellable(fails(told))
