"""How every event log keeps the daily ceiling of lookups started."""

import asyncio
from datetime import datetime, timedelta

import pytest

from contracts.event_log import AT, units
from cs.domain.brand.events import LookupStarted
from cs.domain.contact import Query
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    Ceiling,
    CeilingReached,
    EventLog,
    WrongExpectedVersion,
)

DAY = timedelta(days=1)


async def start(log: EventLog, n: int, at: datetime, limit: int | None) -> int:
    """Start lookup *n* under a ceiling of *limit* a day."""
    started = LookupStarted(
        lookup=f"brand-{n}.1", number=1, query=Query(f"Brand {n}"), deadline_at=at, at=at
    )
    return await log.append([Append(f"brand-{n}", NO_STREAM, [started])], Ceiling(at, limit))


class CeilingContract:
    """Inherit, and give a fixture ``log``, an empty log."""

    async def test_a_ceiling_of_none_at_all_lets_nobody_start(self, log: EventLog) -> None:
        with pytest.raises(CeilingReached):
            await start(log, 1, AT, 0)

        assert await log.head() == 0

    async def test_the_ceiling_opens_a_day_after_the_oldest_start_that_counts(
        self, log: EventLog
    ) -> None:
        second = timedelta(seconds=1)
        await start(log, 1, AT, 2)
        await start(log, 2, AT + timedelta(hours=1), 2)

        with pytest.raises(CeilingReached) as reached:
            await start(log, 3, AT + DAY - second, 2)
        assert reached.value.opens_at == AT + DAY
        assert await log.ceiling_opens_at(Ceiling(AT + DAY - second, 2)) == AT + DAY
        assert await log.ceiling_opens_at(Ceiling(AT + DAY, 2)) is None

        await start(log, 3, AT + DAY, 2)
        with pytest.raises(CeilingReached) as reached:
            await start(log, 4, AT + DAY, 2)
        assert reached.value.opens_at == AT + timedelta(hours=25)

    async def test_starts_of_a_clock_that_was_ahead_count_no_more(self, log: EventLog) -> None:
        for n in (1, 2):
            await start(log, n, AT + 30 * DAY, 2)

        for n in (3, 4):
            assert await log.ceiling_opens_at(Ceiling(AT, 2)) is None
            await start(log, n, AT, 2)
        assert await log.ceiling_opens_at(Ceiling(AT, 2)) == AT + DAY
        with pytest.raises(CeilingReached) as reached:
            await start(log, 5, AT, 2)
        assert reached.value.opens_at == AT + DAY

    async def test_a_start_that_was_not_stored_does_not_count(self, log: EventLog) -> None:
        with pytest.raises(WrongExpectedVersion):
            await log.append([Append("brand-1", 3, units(1))], Ceiling(AT, 1))
        await start(log, 1, AT, 1)
        for n in (2, 3):
            with pytest.raises(CeilingReached):
                await start(log, n, AT + timedelta(hours=n), 1)

        await start(log, 4, AT + DAY, 1)

    async def test_a_start_without_a_ceiling_counts_for_one_that_comes_later(
        self, log: EventLog
    ) -> None:
        await start(log, 1, AT, None)

        with pytest.raises(CeilingReached):
            await start(log, 2, AT, 1)

    async def test_twenty_starts_at_once_admit_exactly_the_limit(self, log: EventLog) -> None:
        answers = await asyncio.gather(
            *(start(log, n, AT, 7) for n in range(20)), return_exceptions=True
        )

        assert sum(isinstance(answer, int) for answer in answers) == 7
        assert sum(isinstance(answer, CeilingReached) for answer in answers) == 13
        assert await log.head() == 7
