"""Letting a stage's silence pass exactly when nothing goes on any more."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from cs.assembly.one_process import RunningService
from cs.domain.brand.events import StageIssued
from cs.pipeline.heartbeats import SILENCE_S
from harness.manual_clock import ManualClock
from system.loop.unreliable_bus import LosingBus


@dataclass
class Silences:
    """Moves *real*, by which *service* measures silence.

    Never while anything is offered, handed over or worked on: so no work is ever issued
    again for a silence that is not one.  Silences may pass in which nothing is in hand.

    Attributes:
        since: Position of the log when the bus and the service on it began.
    """

    service: RunningService
    bus: LosingBus
    real: ManualClock
    since: int = 0

    async def until(self, call: "asyncio.Future[Any]") -> None:
        """Let silences pass until *call* is done."""
        await self.rest()
        while not call.done():
            self.let_one_pass()
            await self.rest()

    def let_one_pass(self) -> None:
        self.real.set(self.real.now() + timedelta(seconds=SILENCE_S + 1))

    async def rest(self) -> None:
        """Return once nothing goes on."""
        await self.service.reading.keys()  # each look waits for the views
        while not await self._at_rest():
            await self.service.reading.keys()

    async def _at_rest(self) -> bool:
        """Return whether all that was issued was offered, and all that came is done."""
        if not (self.bus.all_done() and await self.bus.nothing_late()):
            return False
        log = self.service.streams.log
        issued = sum(
            isinstance(recorded.event, StageIssued)
            for recorded in await log.tail(self.since, 100_000)
        )
        return (
            self.bus.all_done()
            and self.bus.worked == issued
            and self.service.driver.at_rest(await log.head())
        )
