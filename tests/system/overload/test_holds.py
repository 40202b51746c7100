"""Held calls have an end: one more is answered at once, and who leaves gives up his place."""

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from cs.api.waiting import LongPolls
from system.overload.http_service import ALLOWED, over_http


async def test_beyond_the_bound_a_call_is_answered_at_once_and_later_ones_are_held_again() -> (
    None
):
    async with over_http(allowed=replace(ALLOWED, holds=2)) as over:
        keys = await over.keys(4)
        held = [
            asyncio.create_task(over.post(key, f"slow {n}", wait=True))
            for n, key in enumerate(keys[:2])
        ]
        await over.until(lambda: over.service.api.held == 2)

        beyond = await over.post(keys[2], "slow 2", wait=True)
        assert beyond.status_code == 202
        assert not any(call.done() for call in held)

        over.staff.let.set()
        assert [call.status_code for call in await asyncio.gather(*held)] == [200, 200]
        await over.ended(beyond)
        over.staff.let.clear()

        again = asyncio.create_task(over.post(keys[3], "slow 3", wait=True))
        await over.until(lambda: over.service.api.held == 1)
        over.staff.let.set()
        assert (await again).json()["status"] == "done"


async def test_callers_that_go_away_free_their_places_and_their_searches_run_on() -> None:
    async with over_http(allowed=replace(ALLOWED, holds=3)) as over:
        keys = await over.keys(4)
        asked = [await over.post(key, f"slow {n}") for n, key in enumerate(keys[:3])]
        calls = [
            asyncio.create_task(over.post(key, f"slow {n}", wait=True))
            for n, key in enumerate(keys[:3])
        ]
        await over.until(lambda: over.service.api.held == 3)

        for call in calls:
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
        await over.until(lambda: over.service.api.held == 0)

        stays = asyncio.create_task(over.post(keys[3], "slow 3", wait=True))
        await over.until(lambda: over.service.api.held == 1)
        over.staff.let.set()
        assert (await stays).status_code == 200
        for each in asked:
            await over.ended(each)
        repeated = await over.post(keys[0], "slow 0", wait=True)
        assert (repeated.json()["status"], repeated.json()["cached"]) == ("done", True)


def test_one_key_cannot_have_all_places() -> None:
    polls = LongPolls(most=10, most_per_key=2)
    with polls.slot("a") as first, polls.slot("a") as second:
        with polls.slot("a") as third, polls.slot("b") as other:
            assert (first, second, third, other) == (True, True, False, True)
        assert polls.held == 2
    with polls.slot("a") as again:
        assert again
    assert polls.held == 0
