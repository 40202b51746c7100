"""Deciding on streams: state kept folded, advanced by what is new, never stale.

`Streams.change` is the one way a single stream changes.  What needs several streams in
one append (admission) uses `Streams.load` and `Streams.retrying` itself.

Kept states are bounded for each category by itself, so that a crowd of brands drives no
key out.  One that was driven out, or not there yet after a start, is folded from its
snapshot and what came after it.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from itertools import count
from typing import Any, Generic, TypeVar

import msgspec

from cs.domain import key, mail_domain, person, service
from cs.domain.brand import brand
from cs.domain.brand.events import ContactsErased
from cs.domain.codec import AnyEvent
from cs.domain.person import PersonErased
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.errors import DamagedEvent, LogUnavailable, WrongExpectedVersion
from cs.eventlog.port import NO_STREAM, Append, EventLog, RecordedEvent
from cs.eventlog.snapshots import EVERY, NoSnapshots, Shape, Snapshots
from cs.runtime import failpoints
from cs.runtime.keyed_lock import KeyedLock
from cs.runtime.lru import LruDict

S = TypeVar("S")
T = TypeVar("T")

#: How long lost races are retried (docs/architecture.md): then nothing happened.
RETRY_FOR_S = 2.0
#: But not less often than this: where the machine is slow, one try may take that long.
RETRIES = 8
#: Events folded in one go: what they cost (some ms) is what others wait for their turn.
PAGE = 500


class Category(msgspec.Struct, frozen=True):
    """What is known of one kind of stream.

    Attributes:
        initial: Its state before the first event.
        kept: States held in memory; beyond it the least recently used goes.
        may_outlive: Whether a snapshot may be made of a state; ``None``: of none, its
            streams stay short.
    """

    initial: Any
    evolve: Callable[[Any, Any], Any]
    kept: int = 10_000
    may_outlive: Callable[[Any], bool] | None = None


#: A key's state is at most some 25 KB (60 idempotency keys); a brand's a few KB while a
#: lookup runs, when it holds people in clear, and less than one after.
CATEGORIES = {
    "key": Category(key.INITIAL, key.evolve, may_outlive=lambda _: True),
    "brand": Category(
        brand.INITIAL, brand.evolve, may_outlive=lambda state: state.live is None
    ),
    "mail-domain": Category(mail_domain.INITIAL, mail_domain.evolve),
    "person": Category(person.INITIAL, person.evolve, kept=1_000),
    "service": Category(service.INITIAL, service.evolve, kept=1),
}


def category_name(stream: str) -> str:
    """Return the name of *stream* up to what identifies it.

    >>> category_name("mail-domain-acme.test"), category_name("key-a")
    ('mail-domain', 'key')
    """
    return "mail-domain" if stream.startswith("mail-domain-") else stream.partition("-")[0]


def category_of(stream: str) -> Category:
    return CATEGORIES[category_name(stream)]


@cache
def shape_of(category: str) -> Shape:
    """Return what snapshots of *category* look like."""
    known = CATEGORIES[category]
    return Shape(type(known.initial), known.evolve)


class FoldedState(msgspec.Struct, Generic[S], frozen=True):
    """A stream's state and the version it reflects."""

    state: S
    version: int
    snapshot: int = NO_STREAM  # the version of the newest snapshot known of


class Streams:
    def __init__(self, log: EventLog, snapshots: Snapshots | None = None) -> None:
        self.log = log
        self.set_aside = DamagedStreams(log)
        self._snapshots = snapshots or NoSnapshots()
        self._kept = {
            name: LruDict[str, FoldedState[Any]](category.kept)
            for name, category in CATEGORIES.items()
        }
        self._stream_locks = KeyedLock()
        self._first_read_locks = KeyedLock()

    async def load(self, stream: str) -> FoldedState[Any]:
        """Return the state of *stream* as it is now: what is kept, and what came since.

        Raises:
            NewerEvent: A newer version wrote some of it: nothing can be decided on it here.
            DamagedEvent: Some of it cannot be read, or makes no sense; it is set aside.
            LogUnavailable: It cannot be read now.
        """
        try:
            return await self._loaded(stream)
        except DamagedEvent as damaged:
            self.set_aside.note(damaged)
            raise

    async def _loaded(self, stream: str) -> FoldedState[Any]:
        states = self._kept[category_name(stream)]
        kept = states.get(stream)
        if kept is None:
            async with self._first_read_locks.of(
                stream
            ):  # one folds it, the others go on from there
                kept = states.get(stream)
                if kept is None:
                    return self._keep(stream, await self._folded_first(stream))
        return self._keep(stream, await self._advanced(stream, kept))

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        """Keep nothing in memory of brands in which somebody was erased, as *page* tells.

        Also of one of which nobody can say so, as it is damaged: once it is mended, it is
        folded anew, without them.
        """
        for recorded in page:
            match recorded.event:
                case ContactsErased():
                    self.drop(recorded.stream)
                case PersonErased(found_in=names):
                    for name in names:
                        self.drop(brand.stream_of(name.rpartition("#")[0]))
                case _:
                    pass

    def drop(self, stream: str) -> None:
        """Keep nothing of *stream* in memory."""
        self._kept[category_name(stream)].pop(stream, None)

    async def key(self, key_id: str) -> FoldedState[key.Key]:
        return await self.load(f"key-{key_id}")

    async def brand(self, stream: str) -> FoldedState[brand.Brand]:
        return await self.load(stream)

    async def service(self) -> FoldedState[service.Service]:
        return await self.load("service")

    async def mail_domain(self, domain: str) -> FoldedState[mail_domain.MailDomain]:
        return await self.load(f"mail-domain-{domain}")

    async def change(
        self, stream: str, decide: Callable[[Any], Sequence[AnyEvent]]
    ) -> tuple[Sequence[AnyEvent], int]:
        """Append what *decide* makes of the stream's state; return it and its position.

        The position is 0 if nothing was appended.

        Raises:
            Refusal: From *decide*.  Nothing was stored.
            NewerEvent: A newer version wrote some of the stream.  Nothing was stored.
            DamagedEvent: Some of the stream cannot be read.  Nothing was stored.
            LogUnavailable: The append may or may not have been stored.
        """

        async def attempt() -> tuple[Sequence[AnyEvent], int]:
            folded = await self.load(stream)
            events = decide(folded.state)
            if not events:
                return (), 0
            failpoints.reach("change.before-append")
            position = await self.log.append([Append(stream, folded.version, events)])
            failpoints.reach("change.after-append")
            return events, position

        async with self.holding(stream):
            return await self.retrying(attempt)

    async def retrying(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return *attempt*'s result, trying again for a while when another writer wins.

        Raises:
            LogUnavailable: It lost for two seconds on end, and `RETRIES` times.
        """
        give_up = time.monotonic() + RETRY_FOR_S
        pause = 0.001
        for lost in count(1):
            try:
                return await attempt()
            except WrongExpectedVersion as error:
                if lost > RETRIES and time.monotonic() > give_up:
                    raise LogUnavailable(f"lost every race: {error}") from error
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  jitter
                pause = min(pause * 2, 0.1)
        raise AssertionError("counting has no end")

    def holding(self, stream: str) -> AbstractAsyncContextManager[None]:
        """Hold *stream* against other writers of this process, so that they queue, not race."""
        return self._stream_locks.of(stream)

    async def _folded_first(self, stream: str) -> FoldedState[Any]:
        """Fold *stream* from its snapshot, or from its first event if there is none to use."""
        category = category_of(stream)
        snapshot = state = None
        if category.may_outlive is not None:
            shape = shape_of(category_name(stream))
            snapshot = await self._snapshots.find(stream, shape.fingerprint)
            state = shape.state(snapshot) if snapshot else None
        if snapshot is not None and state is not None:
            # The last event it is made of is read too: is it really in this log?
            new = await self.log.read(stream, snapshot.version - 1, 1)
            if new and new[0].version == snapshot.version:
                start = FoldedState(state, snapshot.version, snapshot.version)
                return await self._advanced(stream, start)
        return await self._advanced(stream, FoldedState(category.initial, NO_STREAM))

    async def _advanced(self, stream: str, folded: FoldedState[Any]) -> FoldedState[Any]:
        """Fold into *folded* what came since, a page at a time; others get their turns."""
        category = category_of(stream)
        while True:
            new = await self.log.read(stream, folded.version, PAGE)
            folded = _folded_on(folded, new, category)
            if len(new) < PAGE:
                return folded
            await asyncio.sleep(0)

    def _keep(self, stream: str, folded: FoldedState[Any]) -> FoldedState[Any]:
        """Keep *folded*, unless somebody who read later was here first."""
        category = category_of(stream)
        states = self._kept[category_name(stream)]
        newest = states.get(stream)
        if newest is None or newest.version < folded.version:
            folded = self._snapshotted(stream, folded, category)
            states[stream] = folded
        states.use(stream)
        return folded

    def _snapshotted(
        self, stream: str, folded: FoldedState[Any], category: Category
    ) -> FoldedState[Any]:
        """Offer a snapshot of *folded* if one is due and may be made."""
        if folded.version - folded.snapshot < EVERY:
            return folded
        if category.may_outlive is None or not category.may_outlive(folded.state):
            return folded
        shape = shape_of(category_name(stream))
        self._snapshots.submit(shape.snapshot(stream, folded.version, folded.state))
        return msgspec.structs.replace(folded, snapshot=folded.version)


def _folded_on(
    folded: FoldedState[Any], new: Sequence[RecordedEvent], category: Category
) -> FoldedState[Any]:
    if not new:
        return folded
    state = folded.state
    for recorded in new:
        try:
            state = category.evolve(state, recorded.event)
        except Exception as error:  # it can be read, but nobody can have written it
            name = type(error).__name__
            why = f"event {recorded.position}, {recorded.stream} version {recorded.version}"
            raise DamagedEvent(
                recorded.position, recorded.stream, recorded.version, f"{why}: {name}"
            ) from error
    return msgspec.structs.replace(folded, state=state, version=new[-1].version)
