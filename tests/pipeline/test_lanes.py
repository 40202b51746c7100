"""Work of many keys side by side: order for each key, and a position known for all."""

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from cs.pipeline.lanes import Lanes


class BlockedWork:
    """Work that stands still for some keys until they are let go."""

    def __init__(self, *stuck: str) -> None:
        self.done: list[tuple[str, int]] = []
        self.free = {key: asyncio.Event() for key in stuck}

    async def do(self, item: tuple[str, int]) -> None:
        if item[0] in self.free:
            await self.free[item[0]].wait()
        self.done.append(item)


async def turns(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_with_no_room_left_nothing_more_is_taken() -> None:
    work = BlockedWork("a")
    async with Lanes(work.do, after=0, capacity=2) as lanes:
        await lanes.put("a", 1, ("a", 1))
        await lanes.put("a", 2, ("a", 2))
        third = asyncio.create_task(lanes.put("b", 3, ("b", 3)))
        await turns()
        assert not third.done()

        work.free["a"].set()
        await third


async def test_only_so_many_are_under_way_and_the_others_wait_their_turn() -> None:
    work = BlockedWork("a", "b")
    async with Lanes(work.do, after=0, capacity=10, at_once=2) as lanes:
        for position, key in enumerate("abc", 1):
            await lanes.put(key, position, (key, position))
        lanes.read_to(3)
        await turns()
        assert work.done == []

        work.free["a"].set()
        assert await lanes.advanced(0) == 1
        assert work.done == [("a", 1), ("c", 3)]

        work.free["b"].set()
        assert await lanes.advanced(1) == 3


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.sets(st.sampled_from("abcd")))
def test_the_position_never_passes_what_is_not_done(
    keys: Sequence[str], stuck: set[str]
) -> None:
    async def run() -> None:
        work = BlockedWork(*stuck)
        async with Lanes(work.do, after=0, capacity=100) as lanes:
            for position, key in enumerate(keys, 1):
                await lanes.put(key, position, (key, position))
                lanes.read_to(position)
            await turns(100)
            undone = [n for n, key in enumerate(keys, 1) if key in stuck]
            assert lanes.position == (undone[0] - 1 if undone else len(keys))
            for key in "abcd":
                own = [n for k, n in work.done if k == key]
                assert own == sorted(own)
            for event in work.free.values():
                event.set()
            await turns(100)
            assert lanes.position == len(keys)

    asyncio.run(run())
