"""Slow work: one piece of a kind at a time, shared by those who ask, kept for a while."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from cs.runtime.slow_work import KEPT, WAITING, SlowWork, SlowWorkFailed


class Work:
    """Work that ends when its test lets it; counts what is done at once."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, ...]] = []
        self.at_once = self.most = 0
        self.may_end = asyncio.Event()
        self.error: Exception | None = None

    async def do(self, *asked: str) -> str:
        self.begun.append(asked)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.may_end.wait()
        self.at_once -= 1
        if self.error is not None:
            raise self.error
        return " ".join(asked)


@pytest.fixture
async def work() -> AsyncIterator[Work]:
    made = Work()
    yield made
    made.may_end.set()


async def test_who_asks_for_the_same_shares_one_piece_of_work(work: Work) -> None:
    slow = SlowWork(work.do)
    work.may_end.set()

    found = await asyncio.gather(*(slow.get("report", "march") for _ in range(5)))
    again = await slow.get("report", "march")

    assert found == [again] * 5 == ["report march"] * 5
    assert work.begun == [("report", "march")]
    assert slow.last("report", "march") == "report march"
    assert slow.last("report", "april") is None
    assert await slow.get("report", "march", kept_s=-1) == "report march"
    assert len(work.begun) == 2


async def test_one_piece_of_a_kind_is_done_at_a_time_and_few_wait(work: Work) -> None:
    slow = SlowWork(work.do)

    early = [await slow.get("report", str(n)) for n in range(WAITING)]
    with pytest.raises(SlowWorkFailed, match="try again"):
        await slow.get("report", "one too many")
    work.may_end.set()
    late = [await slow.get("report", str(n), wait_s=30.0) for n in range(WAITING)]

    assert early == [None] * WAITING
    assert late == [f"report {n}" for n in range(WAITING)]
    assert work.most == 1
    assert len(work.begun) == WAITING


async def test_what_took_longer_than_it_is_kept_is_given_out(work: Work) -> None:
    slow = SlowWork(work.do)
    assert await slow.get("report", "march", kept_s=1.0, wait_s=1.1) is None
    work.may_end.set()
    await slow.get("report", "march", wait_s=30.0)

    assert await slow.get("report", "march", kept_s=1.0) == "report march"
    assert len(work.begun) == 1


async def test_what_is_asked_for_again_and_again_is_not_begun_again_beside_others(
    work: Work,
) -> None:
    async def at_once_but_a_report(*asked: str) -> str:
        return await work.do(*asked) if asked[0] == "report" else ""

    slow = SlowWork(at_once_but_a_report)
    for number in range(KEPT + 1):
        assert await slow.get("report", "march") is None
        await slow.get("compare", str(number), wait_s=30.0)
    work.may_end.set()

    assert await slow.get("report", "march", wait_s=30.0) == "report march"
    assert len(work.begun) == 1


async def test_what_failed_is_done_again(work: Work) -> None:
    slow = SlowWork(work.do)
    work.may_end.set()
    work.error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await slow.get("check", "sources")
    assert slow.last("check", "sources") is None
    work.error = None

    assert await slow.get("check", "sources") == "check sources"
