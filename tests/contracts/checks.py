"""What every counter of the status and usage checks does (contract L3, L8)."""

import asyncio
from datetime import datetime, timedelta
from typing import Protocol

from cs.checks.checks import CHECKS_PER_MINUTE, Check, Checks

MINUTE = timedelta(seconds=60)


class Counting(Protocol):
    """A counter and the clock that it goes by."""

    checks: Checks

    def now(self) -> datetime: ...

    async def go_by(self, time: timedelta) -> None: ...


class ChecksContract:
    """Inherit, and give a fixture ``counting``."""

    async def count(self, counting: Counting, key: str = "one") -> Check:
        return await counting.checks.count(key, counting.now())

    async def count_all(self, counting: Counting) -> None:
        for _ in range(CHECKS_PER_MINUTE):
            await self.count(counting)

    async def test_each_check_leaves_one_less(self, counting: Counting) -> None:
        first, second = await self.count(counting), await self.count(counting)

        assert (first.counted, first.window.remaining) == (True, 119)
        assert (second.counted, second.window.remaining) == (True, 118)
        assert first.window.reset == MINUTE
        assert MINUTE - timedelta(seconds=5) < second.window.reset <= MINUTE

    async def test_the_121st_is_refused_and_counts_nowhere(self, counting: Counting) -> None:
        await self.count_all(counting)
        last = await self.count(counting)
        await counting.go_by(timedelta(seconds=30))
        again = await self.count(counting)

        assert (last.counted, last.window.remaining) == (False, 0)
        assert (again.counted, again.window.remaining) == (False, 0)
        assert timedelta(seconds=20) < again.window.reset <= timedelta(seconds=30)
        await counting.go_by(again.window.reset)
        assert (await self.count(counting)).counted

    async def test_the_window_rolls(self, counting: Counting) -> None:
        await self.count(counting)
        await counting.go_by(timedelta(seconds=40))
        await self.count(counting)
        await self.count(counting)
        await counting.go_by(timedelta(seconds=20))

        third = await self.count(counting)

        assert third.window.remaining == CHECKS_PER_MINUTE - 3
        assert timedelta(seconds=35) < third.window.reset <= timedelta(seconds=40)

    async def test_a_window_gone_by_is_fresh(self, counting: Counting) -> None:
        await self.count_all(counting)
        await counting.go_by(MINUTE)

        assert (await self.count(counting)).window.remaining == 119

    async def test_checks_of_a_clock_that_was_ahead_are_forgotten(
        self, counting: Counting
    ) -> None:
        await self.count_all(counting)
        await counting.go_by(-timedelta(days=30))

        first = await self.count(counting)
        await self.count_all(counting)
        last = await self.count(counting)

        assert (first.counted, first.window.remaining) == (True, CHECKS_PER_MINUTE - 1)
        assert not last.counted
        assert last.window.reset <= MINUTE

    async def test_keys_have_windows_of_their_own(self, counting: Counting) -> None:
        await self.count_all(counting)

        assert not (await self.count(counting)).counted
        assert (await self.count(counting, "two")).window.remaining == 119

    async def test_a_check_taken_back_counts_no_more(self, counting: Counting) -> None:
        first = await self.count(counting)
        for _ in range(CHECKS_PER_MINUTE - 1):
            assert (await self.count(counting)).counted
        assert not (await self.count(counting)).counted

        await counting.checks.uncount("one", first.at)
        await counting.checks.uncount("never", first.at)

        assert (await self.count(counting)).counted
        assert not (await self.count(counting)).counted

    async def test_of_many_at_once_120_are_taken(self, counting: Counting) -> None:
        taken = await asyncio.gather(*(self.count(counting) for _ in range(150)))

        assert sum(check.counted for check in taken) == CHECKS_PER_MINUTE
        left = sorted(check.window.remaining for check in taken if check.counted)
        assert left == list(range(CHECKS_PER_MINUTE))
