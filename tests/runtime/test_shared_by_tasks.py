"""Batches, cancellation and bounded dictionaries, which tasks of one process share."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.runtime.batcher import Batcher, BatcherClosed
from cs.runtime.coordination import run_cancellable
from cs.runtime.lru import LruDict

SIZE = 8


class Paper:
    """Multiplies numbers by ten; odd ones are refused.  A batch waits while the pen is away."""

    def __init__(self, *, lanes: int = 1) -> None:
        self.batches: list[list[int]] = []
        self.pen = asyncio.Event()
        self.began = asyncio.Event()
        self.batcher = Batcher[int, int](self.write, size=SIZE, lanes=lanes)

    async def write(self, numbers: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(numbers))
        self.began.set()
        async with asyncio.timeout(10):
            await self.pen.wait()
        return [ValueError(n) if n % 2 else n * 10 for n in numbers]

    async def submitted(self, *numbers: int) -> "list[asyncio.Task[int]]":
        """Return the callers of *numbers*, each of whom waits for an answer."""
        tasks = [asyncio.create_task(self.batcher.submit(n)) for n in numbers]
        await asyncio.wait_for(self.began.wait(), 10)
        return tasks


async def test_what_is_submitted_meanwhile_is_the_next_batch_and_each_has_its_own_answer() -> (
    None
):
    paper = Paper()
    first = await paper.submitted(0, 1)
    second = await paper.submitted(2, 3)
    paper.pen.set()

    answers = await asyncio.gather(*first, *second, return_exceptions=True)

    assert paper.batches == [[0, 1], [2, 3]]
    assert [a if isinstance(a, int) else type(a) for a in answers] == [
        *(0, ValueError, 20, ValueError)
    ]


async def test_closing_finishes_what_has_begun_and_refuses_what_waits() -> None:
    paper = Paper()
    begun = await paper.submitted(2)
    queued = await paper.submitted(4, 6)
    closing = asyncio.create_task(paper.batcher.close())
    answers = await asyncio.gather(*queued, return_exceptions=True)
    assert not closing.done()
    paper.pen.set()
    await closing

    assert await begun[0] == 20
    assert [type(answer) for answer in answers] == [BatcherClosed, BatcherClosed]
    assert paper.batches == [[2]]
    with pytest.raises(BatcherClosed):
        await paper.batcher.submit(8)


async def test_a_caller_that_has_gone_is_left_out_unless_its_batch_has_begun() -> None:
    paper = Paper()
    begun, stays = await paper.submitted(2, 4)
    gone, waits = await paper.submitted(6, 8)
    begun.cancel()
    gone.cancel()
    paper.pen.set()

    assert [await stays, await waits] == [40, 80]
    assert paper.batches == [[2, 4], [8]]


async def test_where_a_lane_is_cancelled_its_callers_are() -> None:
    paper = Paper()
    begun = await paper.submitted(2, 4)
    queued = await paper.submitted(6)
    (lane,) = paper.batcher._running
    lane.cancel()

    answers = await asyncio.gather(*begun, *queued, return_exceptions=True)

    assert [type(answer) for answer in answers] == [asyncio.CancelledError] * 3


async def test_a_batch_that_hangs_keeps_no_others_waiting_where_there_are_two_lanes() -> None:
    paper = Paper(lanes=2)
    (hangs,) = await paper.submitted(2)
    paper.began.clear()
    (other,) = await paper.submitted(4)
    assert paper.batches == [[2], [4]]

    paper.pen.set()

    assert [await hangs, await other] == [20, 40]


async def fails(started: asyncio.Event) -> None:
    await started.wait()
    raise OSError("gone")


async def group(started: asyncio.Event) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fails(started))


async def tries_again(started: asyncio.Event, attempts: list[int]) -> None:
    while True:
        attempts.append(len(attempts))
        try:
            await run_cancellable(group(started))
        except* OSError:
            started.clear()


@pytest.mark.parametrize("steps", range(12))
async def test_what_fails_while_it_is_ended_is_not_tried_again(steps: int) -> None:
    """Some steps after the failure it is tried again already, and ended then.

    Nothing is waited for: ``sleep(0)`` is one step of the loop, so that every moment is tried.
    """
    started, attempts = asyncio.Event(), list[int]()
    trying = asyncio.create_task(tries_again(started, attempts))
    for _ in range(5):  # until its innermost task waits
        await asyncio.sleep(0)
    started.set()
    for _ in range(steps):
        await asyncio.sleep(0)
    before = len(attempts)

    trying.cancel()
    await asyncio.wait([trying], timeout=10)

    assert trying.cancelled()
    assert len(attempts) == before


@given(st.integers(0, 4), st.lists(st.tuples(st.sampled_from("sup"), st.integers(0, 6))))
def test_it_holds_the_most_recently_used(most: int, steps: list[tuple[str, int]]) -> None:
    entries = LruDict[int, int](most)
    expected: list[int] = []
    for what, key in steps:
        if what == "s":
            entries[key] = key
            expected = [*(each for each in expected if each != key), key][-most:]
            expected = expected if most else []
        elif what == "u":
            assert entries.use(key) == (key if key in expected else None)
            if key in expected:
                expected = [*(each for each in expected if each != key), key]
        else:
            entries.pop(key, None)
            expected = [each for each in expected if each != key]

        assert list(entries) == expected
