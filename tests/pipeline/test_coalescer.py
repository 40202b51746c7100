"""What waits for the same thing is done together, in order; what is at fault fails alone."""

import asyncio
from collections.abc import Sequence

import pytest

from cs.pipeline.outcomes import Coalescer


class Work:
    """Holds up its first group until it is let on."""

    def __init__(self) -> None:
        self.groups: list[list[int]] = []
        self.began = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.at_fault: frozenset[int] = frozenset()

    async def __call__(self, items: Sequence[int]) -> None:
        self.groups.append(list(items))
        self.began.set()
        await self.goes_on.wait()
        if wrong := self.at_fault.intersection(items):
            raise ValueError(sorted(wrong))


async def _first_waits(
    work: Work, items: Sequence[int]
) -> tuple[Coalescer[int], list[asyncio.Task[None]]]:
    together = Coalescer(work)
    first, *others = (asyncio.create_task(together.do("a", item)) for item in items)
    await work.began.wait()
    return together, [first, *others]


async def test_what_came_meanwhile_is_done_at_once_and_in_its_order() -> None:
    work = Work()
    together, tasks = await _first_waits(work, [1, 2, 3])
    other = asyncio.create_task(together.do("b", 4))  # waits for nobody of another key
    work.goes_on.set()

    await asyncio.gather(*tasks, other)

    assert [group for group in work.groups if group != [4]] == [[1], [2, 3]]
    assert [4] in work.groups


async def test_of_a_group_only_what_is_at_fault_fails() -> None:
    work = Work()
    work.at_fault = frozenset({3})
    _, tasks = await _first_waits(work, [1, 2, 3, 4])
    work.goes_on.set()

    answers = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(answer) for answer in answers] == [
        type(None),
        type(None),
        ValueError,
        type(None),
    ]
    assert work.groups == [[1], [2, 3, 4], [2], [3], [4]]


async def test_who_is_cancelled_takes_nobody_s_work_along() -> None:
    work = Work()
    _, (first, second, third) = await _first_waits(work, [1, 2, 3])
    second.cancel()
    first.cancel()
    work.goes_on.set()

    await third

    for cancelled in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await cancelled
    assert work.groups == [[1], [3]]
