"""The machine's clock may be set back; what waits for it must not stand still for long."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.runtime.clock import SystemClock, until
from harness.manual_clock import ManualClock

AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


class Machine:
    """Two clocks of a machine, moved by hand; only the wall clock is ever set."""

    def __init__(self) -> None:
        self.wall = AT
        self.seconds = 0.0
        self.clock = SystemClock(lambda: self.wall, lambda: self.seconds)

    def passes(self, by: timedelta) -> None:
        self.wall += by
        self.seconds += by.total_seconds()


def test_after_an_hour_back_a_minutes_window_takes_two() -> None:
    machine = Machine()
    machine.clock.now()
    machine.wall -= HOUR
    machine.passes(timedelta(minutes=2))

    assert machine.clock.now() == AT + timedelta(minutes=1)


def test_after_an_hour_back_the_machine_is_met_two_hours_later() -> None:
    machine = Machine()
    machine.clock.now()
    machine.wall -= HOUR
    machine.passes(2 * HOUR)
    met = machine.clock.now()
    machine.passes(HOUR)

    assert met == AT + HOUR == machine.wall - HOUR
    assert machine.clock.now() == machine.wall


spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=1))
steps = st.timedeltas(min_value=-HOUR, max_value=HOUR)


@given(st.lists(st.tuples(spans, steps), max_size=20))
def test_whatever_is_set_time_never_goes_back_or_stands_still(
    moves: list[tuple[timedelta, timedelta]],
) -> None:
    machine = Machine()
    for passed, step in moves:
        before = machine.clock.now()
        machine.passes(passed)
        machine.wall += step
        after = machine.clock.now()

        assert after >= machine.wall
        # Half of what passed, to the microsecond.
        assert after - before >= passed / 2 - timedelta(microseconds=2)


async def test_who_is_given_time_until_an_instant_is_ended_when_the_clock_is_there() -> None:
    clock = ManualClock(AT)

    async def hang() -> None:
        async with until(AT + HOUR, clock):
            clock.set(AT + HOUR)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await hang()


@pytest.mark.parametrize("left", [HOUR, timedelta(), -HOUR])
async def test_what_is_done_before_is_not_ended(left: timedelta) -> None:
    clock = ManualClock(AT)
    async with until(AT + left, clock):
        pass
    await asyncio.sleep(0)  # what was cancelled ends in the loop's next round

    assert asyncio.all_tasks() == {asyncio.current_task()}  # nobody waits for it any more
