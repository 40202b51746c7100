"""Every chain of causes ends where somebody outside began it, whatever happens meanwhile.

Histories are those of the whole service in memory, with messages repeated, late and lost,
silence, restarts and clock steps (`system.loop.test_service_machine`).
"""

import re

import pytest
from hypothesis import settings

from cs.eventlog.memory import MemoryEventLog
from system.causes.chains import (
    check_against_the_events,
    check_chains,
    explained,
    origins,
)
from system.loop.test_service_machine import ServiceMachine

pytestmark = pytest.mark.slow


class CausesMachine(ServiceMachine):
    """The same service and the same steps; at the end every event is asked why."""

    def teardown(self) -> None:
        if hasattr(self, "keys"):
            self.loop.run(self.why())
        super().teardown()

    async def why(self) -> None:
        events = await self.log.tail(0, 100_000)
        assert [each for each in events if each.caused_by is None] == []
        why = await explained(self.log)
        check_chains(why)
        check_against_the_events(events, why)
        await forget_causes(self.log)
        inferred = await explained(self.log)
        check_against_the_events(events, inferred)
        for position, explanation in why.items():
            first = {each.position for each in origins(explanation)}
            assert {e.position for e in origins(inferred[position])} == first, position
            assert inferred[position].event.inferred


async def forget_causes(log: MemoryEventLog) -> None:
    """Make of *log* what a version without causes would have stored."""
    for stored in await log.stored(0, 100_000):
        log.spoil(stored.position, re.sub(rb',"caused_by":\{[^}]*\}', b"", stored.state))


CausesMachine.TestCase.settings = settings(
    max_examples=10, stateful_step_count=12, deadline=None
)
TestCauses = CausesMachine.TestCase
