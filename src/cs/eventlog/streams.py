"""Deciding on streams: state kept folded, advanced by what is new, never stale.

`Streams.change` is the one way a single stream changes.  What needs several streams in
one append (admission) uses `Streams.load` and `Streams.retrying` itself.
"""

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

import msgspec

from cs.domain import brand, key, mail_domain, person, service
from cs.domain.codec import AnyEvent
from cs.eventlog.port import NO_STREAM, Append, EventLog, LogUnavailable, WrongExpectedVersion
from cs.turns import Turns

S = TypeVar("S")
T = TypeVar("T")

#: Folded states kept; a brand's is a few kilobytes while a lookup runs, less after.
KEPT = 10_000
#: How long lost races are retried (docs/architecture.md): then nothing happened.
RETRY_FOR_S = 2.0


class Category(msgspec.Struct, frozen=True):
    """What is known of one kind of stream: where it starts and how it goes on."""

    initial: Any
    evolve: Callable[[Any, Any], Any]


CATEGORIES = {
    "key": Category(key.INITIAL, key.evolve),
    "brand": Category(brand.INITIAL, brand.evolve),
    "mail-domain": Category(mail_domain.INITIAL, mail_domain.evolve),
    "person": Category(person.INITIAL, person.evolve),
    "service": Category(service.INITIAL, service.evolve),
}


def category_of(stream: str) -> Category:
    """Return the category of *stream*: its name up to what identifies it.

    >>> category_of("mail-domain-acme.test") is CATEGORIES["mail-domain"]
    True
    """
    if stream.startswith("mail-domain-"):
        return CATEGORIES["mail-domain"]
    return CATEGORIES[stream.partition("-")[0]]


class Folded(msgspec.Struct, Generic[S], frozen=True):
    """A stream's state and the version it reflects."""

    state: S
    version: int


class Streams:
    def __init__(self, log: EventLog) -> None:
        self.log = log
        self._folded: OrderedDict[str, Folded[Any]] = OrderedDict()
        self._turns = Turns()

    async def load(self, stream: str) -> Folded[Any]:
        """Return the state of *stream* as it is now: what is kept, and what came since."""
        kept = self._folded.get(stream)
        if kept is None:
            kept = Folded(category_of(stream).initial, NO_STREAM)
        new = await self.log.read(stream, kept.version)
        return self._advance(stream, kept, [(r.version, r.event) for r in new])

    async def key(self, key_id: str) -> Folded[key.Key]:
        return await self.load(f"key-{key_id}")

    async def brand(self, stream: str) -> Folded[brand.Brand]:
        return await self.load(stream)

    async def service(self) -> Folded[service.Service]:
        return await self.load("service")

    async def mail_domain(self, domain: str) -> Folded[mail_domain.MailDomain]:
        return await self.load(f"mail-domain-{domain}")

    async def change(
        self, stream: str, decide: Callable[[Any], Sequence[AnyEvent]]
    ) -> tuple[Sequence[AnyEvent], int]:
        """Append what *decide* makes of the stream's state; return it and its position.

        The position is 0 if nothing was appended.

        Raises:
            Refusal: From *decide*.  Nothing was stored.
            LogUnavailable: The append may or may not have been stored.
        """

        async def attempt() -> tuple[Sequence[AnyEvent], int]:
            folded = await self.load(stream)
            events = decide(folded.state)
            if not events:
                return (), 0
            position = await self.log.append([Append(stream, folded.version, events)])
            return events, position

        async with self.holding(stream):
            return await self.retrying(attempt)

    async def retrying(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return *attempt*'s result, trying again for a while when another writer wins.

        Raises:
            LogUnavailable: It lost for two seconds on end.
        """
        give_up = time.monotonic() + RETRY_FOR_S
        pause = 0.001
        while True:
            try:
                return await attempt()
            except WrongExpectedVersion as error:
                if time.monotonic() > give_up:
                    raise LogUnavailable(f"lost every race: {error}") from error
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  jitter
                pause = min(pause * 2, 0.1)

    def holding(self, stream: str) -> AbstractAsyncContextManager[None]:
        """Hold *stream* against other writers of this process, so that they queue, not race."""
        return self._turns.of(stream)

    def _advance(
        self, stream: str, folded: Folded[Any], new: Sequence[tuple[int, AnyEvent]]
    ) -> Folded[Any]:
        evolve = category_of(stream).evolve
        state, version = folded.state, folded.version
        for version, event in new:  # noqa: B007
            state = evolve(state, event)
        folded = Folded(state, version)
        self._folded[stream] = folded
        self._folded.move_to_end(stream)
        while len(self._folded) > KEPT:
            self._folded.popitem(last=False)
        return folded
