"""Every chain of causes ends where somebody outside began it, whatever happens meanwhile.

Histories are those of the whole service in memory, with messages repeated, late and lost,
silence, restarts and clock steps (`system.loop.test_service_machine`).
"""

import pytest
from hypothesis import settings

from system.causes.chains import (
    check_against_the_events,
    check_chains,
    explained,
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


CausesMachine.TestCase.settings = settings(
    max_examples=10, stateful_step_count=12, deadline=None
)
TestCauses = CausesMachine.TestCase
