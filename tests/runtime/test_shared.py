"""A value that many read together: one read at a time, and none that is too old."""

import asyncio
import gc
from typing import Any

import pytest

from cs.runtime import shared
from cs.runtime.shared import Shared
from cs.runtime.slow_work import SlowWork


class Values:
    """Reads the values that its test gives it, each when it is there."""

    def __init__(self) -> None:
        self.reads = list[asyncio.Future[int]]()
        self._began = asyncio.Event()

    async def read(self) -> int:
        self.reads.append(asyncio.get_running_loop().create_future())
        self._began.set()
        return await self.reads[-1]

    async def begun(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.reads) < count:
                self._began.clear()
                await self._began.wait()


async def test_a_read_that_takes_long_is_the_only_one() -> None:
    values, value = Values(), Shared[int](-1)
    callers = [asyncio.create_task(value.get(values.read)) for _ in range(3)]
    await values.begun(1)
    callers.append(asyncio.create_task(value.get(values.read)))
    await asyncio.sleep(0)
    values.reads[0].set_result(7)

    assert await asyncio.gather(*callers) == [7] * 4
    assert len(values.reads) == 1


@pytest.mark.parametrize("old_s", [300, -1])
async def test_what_was_read_before_is_given_out_while_it_is_not_too_old(
    old_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "OLD_S", old_s)
    values, value = Values(), Shared[int](-1, may_be_old=True)
    first = asyncio.create_task(value.get(values.read))
    await values.begun(1)
    values.reads[0].set_result(1)
    assert await first == 1
    second = asyncio.create_task(value.get(values.read))
    await values.begun(2)
    values.reads[1].set_result(2)

    assert await second == (1 if old_s > 0 else 2)


async def test_a_failure_whose_callers_have_gone_is_not_reported_by_asyncio() -> None:
    reported = list[dict[str, Any]]()
    asyncio.get_running_loop().set_exception_handler(lambda _, about: reported.append(about))

    async def fails(*_: object) -> int:
        await asyncio.sleep(0)
        raise ValueError("no")

    for work in (Shared[int](1).get(fails), SlowWork(fails).get("report")):
        caller = asyncio.create_task(work)
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        for _ in range(10):
            await asyncio.sleep(0)
    gc.collect()

    assert reported == []
