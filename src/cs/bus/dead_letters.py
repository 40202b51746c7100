"""Unreadable and unhandled records: published unchanged, with their place and the reason.

The console shows them until they are handled.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec
from structlog import get_logger

from cs.bus.port import Bus, BusStuck, BusUnavailable, Record, Subscription
from cs.bus.topics import DEAD_LETTERS, RETENTION, UNREADABLE
from cs.domain.cause import raised_at
from cs.domain.service import is_handled
from cs.domain.stages.limits import LOOKUP, BeyondLimits
from cs.runtime.coordination import leaf_errors

log = get_logger()

#: The consumer group of consoles.
GROUP = "console"
#: Dead letters that a console keeps, and the bytes in them; the oldest go first.
MOST, MOST_BYTES = 1_000, 64 * 1024 * 1024
#: How often it lets go of those that are too old or handled.
PRUNE_S = 60.0
#: Wait before the next try on a bus that turns us away.
RETRY_S = 5.0


async def dead_letter(bus: Bus, record: Record, error: Exception) -> None:
    """Publish *record* to the dead letters; what cannot be kept now is only logged.

    An *error* that is none of `UNREADABLE` came from handling it: a bug, or damage that
    lies elsewhere.  Its words are not logged, since they may name a person.
    """
    what = {"topic": record.topic, "partition": record.partition, "offset": record.offset}
    if isinstance(error, BeyondLimits):
        log.warning("record_unreadable", **what, error=type(error).__name__, where=error.where)
    elif isinstance(error, UNREADABLE):
        log.warning("record_unreadable", **what, error=type(error).__name__)
    else:
        cause = _first(error)
        log.error("record_not_handled", **what, error=type(cause).__name__, at=raised_at(cause))
    await publish_dead_letter(bus, record, error)


async def publish_dead_letter(bus: Bus, record: Record, error: Exception) -> None:
    """Do as `dead_letter`, without a line in the log: the caller has one of its own."""
    headers = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "error": type(_first(error)).__name__,
    }
    try:
        await bus.publish(DEAD_LETTERS, key=record.key, value=record.value, headers=headers)
    except BusUnavailable as unavailable:
        log.warning("dead_letter_lost", topic=record.topic, why=str(unavailable))


def _first(error: Exception) -> Exception:
    """Return *error*, or the first one inside it if it is a group."""
    return next(leaf_errors(ExceptionGroup("", [error])))


class DeadLetter(msgspec.Struct, frozen=True):
    """A dead letter.

    Attributes:
        published_at: When it was, or when this process read it if the bus does not keep that.
        lookup: The lookup that it is about; ``None``: that cannot be read.
    """

    record: Record
    published_at: datetime
    lookup: str | None

    @property
    def id(self) -> str:
        return f"{self.record.partition}-{self.record.offset}"

    @property
    def place(self) -> str:
        """Where it stood: topic, partition and offset."""
        said = self.record.headers
        return f"{said.get('topic')} {said.get('partition')}/{said.get('offset')}"[:200]


class _About(msgspec.Struct):
    lookup: str


def _lookup(record: Record) -> str | None:
    try:
        said = msgspec.json.decode(record.value, type=_About).lookup
    except UNREADABLE:
        return None
    return said if LOOKUP.admits(said) else None


class DeadLetterBox:
    """The dead letters of *bus*, until they are handled or as old as the topic.

    They stay uncommitted, so those of a bus that keeps them come again after a restart, and so
    does a letter that was handled while an older one was not: *handled* says which those are.

    Args:
        bus: Where they are.
        now: The time by which records are dated.
        handled: Returns when each letter was handled, by its place.
    """

    def __init__(
        self,
        bus: Bus,
        now: Callable[[], datetime],
        handled: Callable[[], Awaitable[Mapping[str, datetime]]],
    ) -> None:
        self._bus = bus
        self._now = now
        self._handled = handled
        self._kept: dict[str, DeadLetter] = {}
        self._cleared: list[DeadLetter] = []  # and not yet committed
        self._in_hand = set[str]()
        self._subscription: Subscription | None = None
        self._why = "not joined yet"

    @property
    def why(self) -> str | None:
        """Why they cannot be read; ``None`` if they can."""
        return self._why if self._subscription is None else self._subscription.away

    async def run(self) -> None:
        """Read them for ever."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._prune_often())
            await self._read()

    async def _read(self) -> None:
        while True:
            try:
                async with self._bus.subscribe(DEAD_LETTERS, group=GROUP) as letters:
                    self._subscription = letters
                    async for record in letters:
                        await self._keep(record)
            except (BusUnavailable, BusStuck) as error:
                self._why = str(error)
            finally:
                self._subscription = None
            await asyncio.sleep(RETRY_S)

    async def _keep(self, record: Record) -> None:
        now = self._now()
        letter = DeadLetter(record, min(record.at or now, now), _lookup(record))
        self._kept[letter.id] = letter
        total = sum(len(each.record.value) for each in self._kept.values())
        while len(self._kept) > MOST or total > MOST_BYTES:
            oldest = next(iter(self._kept.values()))
            total -= len(oldest.record.value)
            await self.let_go(oldest)

    async def _prune_often(self) -> None:
        while True:
            await asyncio.sleep(PRUNE_S)
            await self._prune()

    async def _prune(self) -> None:
        """Let go of letters that are too old or were handled, here or by another process.

        Those of a partition that is another's by now are only forgotten.
        """
        handled, oldest = await self._handled(), self._now() - RETENTION
        if (letters := self._subscription) is not None:
            kept = self._kept.items()
            self._kept = {id_: each for id_, each in kept if letters.keeps(each.record)}
        for each in [*self._kept.values()]:
            at = each.published_at
            if at < oldest or is_handled(handled, each.place, at):
                await self.let_go(each)
        while self._cleared:
            await self._commit(self._cleared.pop())

    async def newest(self) -> list[DeadLetter]:
        """Return those that are kept, the newest first."""
        await self._prune()
        return [*self._kept.values()][::-1]

    async def get(self, id_: str) -> DeadLetter | None:
        """Return the letter *id_*; ``None``: it is or was handled, or is too old."""
        await self._prune()
        return None if id_ in self._in_hand else self._kept.get(id_)

    @asynccontextmanager
    async def handling(self, letter: DeadLetter) -> AsyncIterator[None]:
        """Give *letter* to no other caller until left, then let it go unless that failed."""
        self._in_hand.add(letter.id)
        try:
            yield
            await self.let_go(letter)
        finally:
            self._in_hand.discard(letter.id)

    async def send_again(self, letter: DeadLetter) -> None:
        """Publish *letter* where it came from.

        Raises:
            BusUnavailable: It may not have been published.
        """
        record = letter.record
        await self._bus.publish(record.headers["topic"], key=record.key, value=record.value)

    async def let_go(self, letter: DeadLetter) -> None:
        """Forget *letter* for good."""
        if self._kept.pop(letter.id, None) is not None:
            await self._commit(letter)

    def clear(self) -> None:
        """Forget all letters for good: a person in one of them may have been erased."""
        self._cleared += self._kept.values()
        self._kept.clear()

    async def _commit(self, letter: DeadLetter) -> None:
        if self._subscription is not None:
            await self._subscription.commit(letter.record)
