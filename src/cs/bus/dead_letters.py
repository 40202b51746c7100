"""Unreadable and unhandled records: published unchanged, with their place and the reason.

The console shows them until they are handled.
"""

import asyncio
import re
from collections.abc import Callable
from datetime import datetime

import msgspec
from structlog import get_logger

from cs.bus.port import Bus, BusStuck, BusUnavailable, Record, Subscription
from cs.bus.topics import DEAD_LETTERS, RETENTION, UNREADABLE
from cs.domain.cause import raised_at
from cs.domain.stages.limits import BeyondLimits
from cs.runtime.coordination import leaf_errors

log = get_logger()

#: The consumer group of consoles.
GROUP = "console"
#: Dead letters that a console keeps; the oldest go first.
MOST = 1_000
#: Wait before the next try on a bus that turns us away.
RETRY_S = 5.0

_LOOKUP = re.compile(r"brand-\w{1,64}\.\d{1,10}(-\w{1,64})?", re.ASCII)


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
    """A dead letter and when this process read it."""

    record: Record
    read_at: datetime

    @property
    def id(self) -> str:
        return f"{self.record.partition}-{self.record.offset}"

    @property
    def place(self) -> str:
        """Where it stood: topic, partition and offset."""
        said = self.record.headers
        return f"{said.get('topic')} {said.get('partition')}/{said.get('offset')}"[:200]

    @property
    def lookup(self) -> str | None:
        """The lookup that it is about; ``None``: that cannot be read."""
        try:
            said = msgspec.json.decode(self.record.value, type=_About).lookup
        except UNREADABLE:
            return None
        return said if _LOOKUP.fullmatch(said) else None


class _About(msgspec.Struct):
    lookup: str


class DeadLetterBox:
    """The dead letters of *bus*, until they are sent again, discarded or as old as the topic.

    They stay uncommitted, so those of a bus that keeps them come again after a restart.

    Attributes:
        why: Why they cannot be read; ``None`` if they can.
    """

    def __init__(self, bus: Bus, now: Callable[[], datetime]) -> None:
        self._bus = bus
        self._now = now
        self._kept: dict[str, DeadLetter] = {}
        self._subscription: Subscription | None = None
        self.why: str | None = None

    async def run(self) -> None:
        """Read them for ever."""
        while True:
            try:
                async with self._bus.subscribe(DEAD_LETTERS, group=GROUP) as letters:
                    self.why, self._subscription = None, letters
                    async for record in letters:
                        letter = DeadLetter(record, self._now())
                        self._kept[letter.id] = letter
                        while len(self._kept) > MOST:
                            await self.let_go(next(iter(self._kept.values())))
            except (BusUnavailable, BusStuck) as error:
                self.why = str(error)
            await asyncio.sleep(RETRY_S)

    async def newest(self) -> list[DeadLetter]:
        """Return those that are kept, the newest first."""
        oldest = self._now() - RETENTION
        for letter in [each for each in self._kept.values() if each.read_at < oldest]:
            await self.let_go(letter)
        return [*self._kept.values()][::-1]

    def get(self, id_: str) -> DeadLetter | None:
        return self._kept.get(id_)

    async def send_again(self, letter: DeadLetter) -> None:
        """Publish *letter* where it came from, and let it go.

        Raises:
            BusUnavailable: It may not have been published; it stays.
        """
        record = letter.record
        await self._bus.publish(record.headers["topic"], key=record.key, value=record.value)
        await self.let_go(letter)

    async def let_go(self, letter: DeadLetter) -> None:
        """Forget *letter* for good."""
        if self._kept.pop(letter.id, None) is not None and self._subscription is not None:
            await self._subscription.commit(letter.record)
