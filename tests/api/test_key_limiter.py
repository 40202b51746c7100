"""Slots of a key: as many as there are, and none is lost."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.api.errors import TooManyWaiting
from cs.api.waiting import KeyLimiter
from cs.eventlog.port import LogUnavailable


async def settled() -> None:
    """Return when all tasks have gone as far as they can by themselves."""
    for _ in range(4):
        await asyncio.sleep(0)


def begun(call: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
    return asyncio.create_task(call)


@given(st.lists(st.sampled_from(["come", "leave", "give up", "be settled"]), max_size=40))
def test_slots_are_neither_lost_nor_made(acts: list[str]) -> None:
    asyncio.run(act(acts))


async def act(acts: list[str]) -> None:
    limiter, callers, inside = KeyLimiter(2, 3), [], 0

    async def call(leaving: asyncio.Event) -> None:
        with suppress(TooManyWaiting):
            await let_through(leaving)

    async def let_through(leaving: asyncio.Event) -> None:
        nonlocal inside
        async with limiter.slot("a"):
            inside += 1
            assert inside <= 2
            try:
                await leaving.wait()
            finally:
                inside -= 1

    for what in [*acts, "be settled"]:
        match what:
            case "come":
                leaving = asyncio.Event()
                callers.append((begun(call(leaving)), leaving))
            case "leave" if callers:
                callers[0][1].set()
            case "give up" if callers:
                callers[len(callers) // 2][0].cancel()
            case _:
                await settled()
        callers = [each for each in callers if not each[0].done()]
    assert inside == min(2, len(callers))
    for _, leaving in callers:
        leaving.set()
    await asyncio.gather(*(each for each, _ in callers), return_exceptions=True)
    assert len(limiter) == 0


async def test_a_slot_is_waited_for_no_longer_than_asked() -> None:
    limiter = KeyLimiter(1, 2)
    async with limiter.slot("a", 0.01):
        with pytest.raises(LogUnavailable):
            async with limiter.slot("a", 0.01):
                pytest.fail("there is one slot")

    async with limiter.slot("a", 0.01):
        assert len(limiter) == 1
