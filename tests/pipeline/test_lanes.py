"""Lanes: so much is under way at once, and nothing goes on once they have ended."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from cs.pipeline.lanes import Lanes

Item = tuple[str, int, int]


async def pages(*items: Item) -> AsyncIterator[tuple[Sequence[Item], int]]:
    """Yield *items* as one page, and then nothing for ever."""
    yield items, items[-1][1]
    await asyncio.Event().wait()


async def test_only_so_many_are_under_way_and_all_end_with_the_lanes() -> None:
    begun, ended, full = list[int](), list[int](), asyncio.Event()

    async def work(item: int) -> None:
        begun.append(item)
        if len(begun) == 3:
            full.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(item)

    lanes = Lanes(work, after=0, capacity=100, at_once=3)
    running = asyncio.create_task(lanes.run(pages(*((f"key-{n}", n, n) for n in range(1, 11)))))
    async with asyncio.timeout(10):
        await full.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    assert begun == [1, 2, 3]
    assert lanes.position == 0

    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert sorted(ended) == [1, 2, 3], "leaving ends what is under way"
    assert begun == [1, 2, 3], "and begins nothing else"
