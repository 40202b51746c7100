"""A bus that keeps less than its promise: records come twice, late, or never."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from cs.assembly.one_process import RunningService, memory_bus
from cs.bus.port import NO_HEADERS, Record, Subscription
from cs.bus.topics import OUTCOMES, decode_outcome, decode_work
from cs.domain.brand.events import StageIssued
from cs.domain.stages.work import Alive, MailboxChecked, PeopleSeen
from cs.pipeline.heartbeats import SILENCE_S
from harness.manual_clock import ManualClock

#: How often silence makes work be issued again (docs/architecture.md).
REISSUES = 2

#: (lookup, stage, item) -> the attempts of which a message was lost.
Lost = defaultdict[tuple[str, str, str], set[int]]


class Message(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    headers: Mapping[str, str] = NO_HEADERS


class UnreliableBus:
    """Loses some messages, hands some over twice, and some late, after those of other keys.

    Attributes:
        losing: Of all messages, the part that is lost.
        lost: Work whose message or answer was lost, and in which of its attempts, also by
            the buses before.  Progress and signs of life are not counted: nothing depends
            on one of them alone.
        worked: How many messages were work for a stage, lost ones included.
    """

    def __init__(self, chance: random.Random, lost: Lost) -> None:
        self._bus = memory_bus()
        self._chance = chance
        self._undone = 0
        self._again: list[Message] = []
        self._late: dict[tuple[str, bytes], list[Message]] = {}
        self._one_at_a_time = asyncio.Lock()
        self.lost = lost
        self.losing = 0.0
        self.worked = 0

    def gave_up(self) -> bool:
        """Return whether some work was lost as often as it is issued for silence."""
        return any(len(attempts) > REISSUES for attempts in self.lost.values())

    def all_done(self) -> bool:
        """Return whether all that was handed over is done."""
        return self._undone == 0

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        self.worked += topic != OUTCOMES
        if self._chance.random() < self.losing:
            self._note_lost(topic, value)
            return
        async with self._one_at_a_time:
            if (topic, key) in self._late or self._chance.random() < 0.2:
                late = self._late.setdefault((topic, key), [])  # one key stays in order
                late.append(Message(topic, key, value, headers))
            else:
                await self._hand_over(Message(topic, key, value, headers))
            if self._chance.random() < 0.5:
                await self._hand_over_late()

    def _note_lost(self, topic: str, value: bytes) -> None:
        sent = (decode_outcome if topic == OUTCOMES else decode_work)(value)
        if not isinstance(getattr(sent, "finding", None), Alive | PeopleSeen | MailboxChecked):
            self.lost[sent.lookup, sent.stage, sent.item].add(sent.attempt)

    async def nothing_late(self) -> bool:
        """Return whether nothing was late; what was of one key is handed over now."""
        async with self._one_at_a_time:
            return not await self._hand_over_late()

    async def _hand_over_late(self) -> bool:
        if not self._late:
            return False
        for message in self._late.pop(self._chance.choice(sorted(self._late))):
            await self._hand_over(message)
        return True

    async def _hand_over(self, message: Message) -> None:
        twice = [message] if self._chance.random() < 0.4 else []
        self._again += twice
        again = []
        if self._again and self._chance.random() < 0.6:
            again = [self._again.pop(self._chance.randrange(len(self._again)))]
        for topic, key, value, headers in (message, *again):
            self._undone += 1
            await self._bus.publish(topic, key=key, value=value, headers=headers)

    @asynccontextmanager
    async def subscribe(
        self, topic: str, *, group: str, drain_s: float = 0.0
    ) -> AsyncIterator[Subscription]:
        async with self._bus.subscribe(topic, group=group, drain_s=drain_s) as records:
            yield Counted(records, self._done)

    def _done(self) -> None:
        self._undone -= 1


class Counted:
    """A subscription that reports each commit."""

    def __init__(self, records: Subscription, done: Callable[[], None]) -> None:
        self._records = records
        self._done = done

    def __aiter__(self) -> AsyncIterator[Record]:
        return aiter(self._records)

    @property
    def away(self) -> str | None:
        return self._records.away

    def keeps(self, record: Record) -> bool:
        return self._records.keeps(record)

    async def commit(self, record: Record) -> None:
        await self._records.commit(record)
        self._done()


@dataclass
class Silences:
    """Moves *real*, by which *service* measures silence, when nothing goes on any more.

    Never while anything is offered, handed over or worked on: so no work is ever issued
    again for a silence that is not one.  Silences may pass in which nothing is in hand.

    Attributes:
        since: Position of the log when the bus and the service on it began.
    """

    service: RunningService
    bus: UnreliableBus
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
        stored = await log.tail(self.since, 100_000)
        issued = sum(isinstance(recorded.event, StageIssued) for recorded in stored)
        done = self.bus.all_done() and self.bus.worked == issued
        return done and self.service.driver.at_rest(await log.head())
