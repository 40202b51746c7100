"""A bus that keeps less than its promise: records come twice, late, or never."""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from cs.assembly.one_process import memory_bus
from cs.bus.port import NO_HEADERS, Record, Subscription
from cs.bus.topics import OUTCOMES, decode_outcome, decode_work
from cs.domain.stages.work import Alive, MailboxChecked, Outcome, PeopleSeen, Work

#: How often silence makes work be issued again (docs/architecture.md).
REISSUES = 2

#: (lookup, stage, item) -> the attempts of which a message was lost.
Lost = defaultdict[tuple[str, str, str], set[int]]


class Message(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    headers: Mapping[str, str] = NO_HEADERS

    def decoded(self) -> Work | Outcome:
        return (decode_outcome if self.topic == OUTCOMES else decode_work)(self.value)


class LosingBus:
    """Loses what *loses* says, and knows whether all it handed over is done.

    Attributes:
        lost: Work whose message or answer was lost, and in which of its attempts, also by
            the buses before.  Progress and signs of life are not counted: nothing depends
            on one of them alone.
        offered: How many messages there were, lost ones included.
        worked: How many of these were work for a stage.
    """

    def __init__(self, loses: Callable[[Message], bool], lost: Lost | None = None) -> None:
        self._bus = memory_bus()
        self._loses = loses
        self._undone = 0
        self.lost = Lost(set) if lost is None else lost
        self.offered = 0
        self.worked = 0

    def gave_up(self) -> bool:
        """Return whether some work was lost as often as it is issued for silence."""
        return any(len(attempts) > REISSUES for attempts in self.lost.values())

    def all_done(self) -> bool:
        return self._undone == 0

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        message = Message(topic, key, value, headers)
        self.offered += 1
        self.worked += topic != OUTCOMES
        if self._loses(message):
            self._note_lost(message.decoded())
        else:
            await self.hand_over(message)

    async def nothing_late(self) -> bool:
        return True

    async def hand_over(self, message: Message) -> None:
        self._undone += 1
        topic, key, value, headers = message
        await self._bus.publish(topic, key=key, value=value, headers=headers)

    def _note_lost(self, sent: Work | Outcome) -> None:
        finding = sent.finding if isinstance(sent, Outcome) else None
        if not isinstance(finding, Alive | PeopleSeen | MailboxChecked):
            self.lost[sent.lookup, sent.stage, sent.item].add(sent.attempt)

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

    async def commit(self, record: Record) -> None:
        await self._records.commit(record)
        self._done()


class UnreliableBus(LosingBus):
    """Also hands over some records twice, and some late, after records of other keys.

    Attributes:
        losing: Of all messages, the part that is lost.
    """

    def __init__(self, chance: random.Random, lost: Lost) -> None:
        super().__init__(lambda _: chance.random() < self.losing, lost)
        self._chance = chance
        self._again: list[Message] = []
        self._late: dict[tuple[str, bytes], list[Message]] = {}
        self._one_at_a_time = asyncio.Lock()
        self.losing = 0.0

    async def hand_over(self, message: Message) -> None:
        async with self._one_at_a_time:
            of_key = (message.topic, message.key)
            if of_key in self._late or self._chance.random() < 0.2:
                self._late.setdefault(of_key, []).append(message)  # one key stays in order
            else:
                await self._hand_over_now(message)
            if self._chance.random() < 0.5:
                await self._hand_over_late()

    async def nothing_late(self) -> bool:
        """Return whether nothing was late; what was of one key is handed over now."""
        async with self._one_at_a_time:
            return not await self._hand_over_late()

    async def _hand_over_late(self) -> bool:
        if not self._late:
            return False
        for message in self._late.pop(self._chance.choice(sorted(self._late))):
            await self._hand_over_now(message)
        return True

    async def _hand_over_now(self, message: Message) -> None:
        await super().hand_over(message)
        if self._chance.random() < 0.4:
            self._again.append(message)
        if self._again and self._chance.random() < 0.6:
            again = self._again.pop(self._chance.randrange(len(self._again)))
            await super().hand_over(again)
