import asyncio
from collections.abc import Sequence

import pytest

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.group_writer import BATCH, GroupWriter


class Paper:
    """Writes numbers; odd ones are refused.  A batch waits while the pen is away."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.wrote: list[tuple[int, int]] = []
        self.pen = asyncio.Event()
        self.pen.set()
        self.began = asyncio.Event()
        self.torn = False

    async def write(self, numbers: Sequence[int]) -> list[int | Exception]:
        self.began.set()
        async with asyncio.timeout(10):
            await self.pen.wait()
        if self.torn:
            raise OSError(5, "input/output error")
        self.batches.append(list(numbers))
        return [ValueError(n) if n % 2 else n * 10 for n in numbers]

    def note(self, number: int, answer: int) -> None:
        self.wrote.append((number, answer))


def writer(paper: Paper) -> GroupWriter[int, int]:
    return GroupWriter[int, int](paper.write, paper.note)


async def _until_it_writes(paper: Paper) -> None:
    async with asyncio.timeout(10):
        await paper.began.wait()


async def test_callers_that_wait_together_share_a_batch_and_each_hears_its_own_answer() -> None:
    paper = Paper()
    async with writer(paper) as group:
        answers = await asyncio.gather(
            *(group.submit(n) for n in range(6)), return_exceptions=True
        )

    assert paper.batches == [[0, 1, 2, 3, 4, 5]]
    assert [a if isinstance(a, int) else type(a) for a in answers] == [
        0,
        ValueError,
        20,
        ValueError,
        40,
        ValueError,
    ]
    assert paper.wrote == [(0, 0), (2, 20), (4, 40)]


async def test_a_batch_has_a_largest_size_and_order_is_kept() -> None:
    paper = Paper()
    async with writer(paper) as group:
        await asyncio.gather(*(group.submit(2 * n) for n in range(BATCH + 3)))

    assert [len(batch) for batch in paper.batches] == [BATCH, 3]
    assert [number for number, _ in paper.wrote] == [2 * n for n in range(BATCH + 3)]


async def test_a_batch_that_cannot_be_written_is_unavailable_and_the_next_one_is_written() -> (
    None
):
    paper = Paper()
    async with writer(paper) as group:
        paper.torn = True
        answers = await asyncio.gather(group.submit(2), group.submit(4), return_exceptions=True)
        paper.torn = False

        assert [type(answer) for answer in answers] == [LogUnavailable, LogUnavailable]
        assert await group.submit(6) == 60


async def test_whoever_is_being_written_at_the_stop_is_answered_and_the_queue_fails() -> None:
    paper = Paper()
    group = writer(paper)
    await group.__aenter__()
    paper.pen.clear()
    written = asyncio.create_task(group.submit(2))
    await _until_it_writes(paper)
    queued = [asyncio.create_task(group.submit(n)) for n in (4, 6)]
    leaving = asyncio.create_task(group.__aexit__())
    await asyncio.wait([asyncio.create_task(paper.began.wait())])
    assert not leaving.done()

    paper.pen.set()
    await leaving

    assert await written == 20
    answers = await asyncio.gather(*queued, return_exceptions=True)
    assert [type(answer) for answer in answers] == [LogUnavailable, LogUnavailable]
    assert paper.batches == [[2]]
    with pytest.raises(LogUnavailable, match="not open"):
        await group.submit(8)


async def test_stopping_twice_over_still_finishes_what_is_being_written() -> None:
    """A stop that is itself cancelled must not leave a caller without an answer."""
    paper = Paper()
    group = writer(paper)
    await group.__aenter__()
    paper.pen.clear()
    written = asyncio.create_task(group.submit(2))
    await _until_it_writes(paper)
    leaving = asyncio.create_task(group.__aexit__())
    await asyncio.wait([asyncio.create_task(paper.began.wait())])
    leaving.cancel()
    await asyncio.wait([asyncio.create_task(paper.began.wait())])

    paper.pen.set()
    await asyncio.wait([leaving])

    async with asyncio.timeout(5):
        assert await written == 20


async def test_a_caller_that_gives_up_leaves_its_batch_alone() -> None:
    paper = Paper()
    async with writer(paper) as group:
        paper.pen.clear()
        gone = asyncio.create_task(group.submit(2))
        stays = asyncio.create_task(group.submit(4))
        await _until_it_writes(paper)
        gone.cancel()
        paper.pen.set()

        assert await stays == 40
        with pytest.raises(asyncio.CancelledError):
            await gone
    assert paper.wrote == [(2, 20), (4, 40)]


async def test_more_than_may_wait_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cs.eventlog.group_writer.WAITING", 3)
    paper = Paper()
    async with writer(paper) as group:
        paper.pen.clear()
        first = asyncio.create_task(group.submit(0))
        await _until_it_writes(paper)
        waiting = [asyncio.create_task(group.submit(n)) for n in (2, 4, 6)]
        await asyncio.wait([asyncio.create_task(paper.began.wait())])

        with pytest.raises(LogUnavailable, match="waiting already"):
            await group.submit(8)

        paper.pen.set()
        assert await asyncio.gather(first, *waiting) == [0, 20, 40, 60]
