"""Deciding on streams: folded states in memory, advanced by what is new.

An old state costs an append that fails; to refuse, or to do nothing, the newest one is read.

`Streams.change` is the one way a single stream changes.  What needs several streams in one
append (admission) uses `Streams.load`, `Streams.lock` and `Streams.retry_on_conflict` itself.

The states in memory are bounded for each category by itself, so that many brands evict no
key.  A state that was evicted, or was not read yet since the start, is folded from its
snapshot and what came after it.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from functools import reduce
from itertools import count
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from cs.domain import key, mail_domain, service
from cs.domain.brand import brand
from cs.domain.brand.events import ContactsErased
from cs.domain.causation import AnyCause
from cs.domain.codec import AnyEvent
from cs.domain.messages import Event
from cs.domain.person import PersonErased
from cs.domain.refusal import Refusal
from cs.eventlog.categories import (
    CATEGORIES,
    SERVICE,
    Category,
    category_name,
    category_of,
    rules_of,
)
from cs.eventlog.damage import DamagedStreams
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    DamagedEvent,
    EventLog,
    LogUnavailable,
    NewerEvent,
    RecordedEvent,
    WrongExpectedVersion,
)
from cs.eventlog.snapshots import EVERY, Snapshot, Snapshots, SnapshotsUnavailable
from cs.metrics.metrics import Metrics
from cs.runtime import failpoints
from cs.runtime.coordination import KeyedLock
from cs.runtime.lru import LruDict

S = TypeVar("S")
T = TypeVar("T")

#: How long an append that lost a race is tried again; after that nothing was stored.
RETRY_FOR_S = 2.0
#: But not less often than this: where the machine is slow, one try may take that long.
RETRIES = 8
#: Events folded in one go: the event loop is blocked for as long as they take, some ms.
PAGE = 500


class FoldedState(msgspec.Struct, Generic[S], frozen=True):
    """A stream's state and the version it reflects.

    Attributes:
        position: Of the event of that version in the log; 0 without any.
        snapshot: The version of its newest known snapshot.
    """

    state: S
    version: int
    position: int
    snapshot: int = NO_STREAM


class Prepared(NamedTuple):
    """How a stream is changed, given what other streams hold.

    Attributes:
        decide: Returns the events to append, given the stream's state.
        unmoved: Appends without events: the other streams, at the versions that were read.
    """

    decide: Callable[[Any], Sequence[AnyEvent]]
    unmoved: Sequence[Append] = ()


class Streams:
    """Folded states of the streams of *log*.

    Attributes:
        READS: What `on_events` is to be given.
    """

    READS: ClassVar[frozenset[type[Event]]] = frozenset({ContactsErased, PersonErased})

    def __init__(
        self,
        log: EventLog,
        snapshots: Snapshots | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self.log = log
        self.set_aside = DamagedStreams(log)
        self._snapshots = snapshots
        self._cache = {
            name: LruDict[str, FoldedState[Any]](category.cached)
            for name, category in CATEGORIES.items()
        }
        metrics = metrics or Metrics()
        self._counters = {
            name: metrics.cache(f"{name}-states", states.__len__, states.most)
            for name, states in self._cache.items()
        }
        self._stream_locks = KeyedLock()
        self._first_read_locks = KeyedLock()

    async def load(self, stream: str, version: int | None = None) -> FoldedState[Any]:
        """Return the state of *stream* as it is now: what is in memory, and what came since.

        Args:
            stream: Its name.
            version: The version that the caller has just read, if it did: a state in memory
                that reflects it is the newest.

        Raises:
            NewerEvent: A newer version wrote some of it: nothing can be decided on it here.
            DamagedEvent: Some of it cannot be read, or makes no sense; it is set aside.
            LogUnavailable: It cannot be read now.
        """
        if version is not None:
            remembered = self.remembered(stream)
            if remembered is not None and remembered.version >= version:
                return remembered
        try:
            return await self._load(stream)
        except DamagedEvent as damaged:
            self.set_aside.note(damaged)
            raise

    async def _load(self, stream: str) -> FoldedState[Any]:
        category = category_name(stream)
        states = self._cache[category]
        cached = states.get(stream)
        if cached is None:
            self._counters[category].misses.inc()
            # One caller folds it, the others go on from there.
            async with self._first_read_locks.of(stream):
                cached = states.get(stream)
                if cached is None:
                    return self._remember(stream, await self._fold_first(stream))
        else:
            self._counters[category].hits.inc()
        return self._remember(stream, await self._fold_new(stream, cached))

    def appended(
        self, stream: str, before: FoldedState[S], state: S, *, events: int, last: int
    ) -> None:
        """Remember *state*, so that what this process has just written need not be read.

        Args:
            stream: To which *events* were appended at the version of *before*.
            before: As it was loaded.
            state: Of *before* with those events folded into it.
            events: How many.
            last: The position of the last of them.
        """
        version = before.version + events
        after = msgspec.structs.replace(before, state=state, version=version, position=last)
        self._remember(stream, after)

    def on_events(self, page: Sequence[RecordedEvent]) -> None:
        """Forget the states of brands in which a person was erased by an event of *page*.

        They hold people in clear.  A damaged brand's state goes too: once its stream is
        mended it is folded again, without the erased.
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
        """Forget the state of *stream*."""
        self._cache[category_name(stream)].pop(stream, None)

    def remembered(self, stream: str) -> FoldedState[Any] | None:
        """Return the state of *stream* as it was loaded last, if that is in memory still."""
        return self._cache[category_name(stream)].use(stream)

    async def key(self, key_id: str, version: int | None = None) -> FoldedState[key.Key]:
        return await self.load(f"key-{key_id}", version)

    async def brand(self, stream: str) -> FoldedState[brand.Brand]:
        return await self.load(stream)

    async def service(self) -> FoldedState[service.Service]:
        return await self.load(SERVICE)

    async def mail_domain(self, domain: str) -> FoldedState[mail_domain.MailDomain]:
        return await self.load(f"mail-domain-{domain}")

    async def change(
        self,
        stream: str,
        decide: Callable[[Any], Sequence[AnyEvent]],
        *,
        caused_by: AnyCause,
    ) -> tuple[Sequence[AnyEvent], int]:
        """Append what *decide* makes of the stream's state; return it and its position.

        The position is 0 if nothing was appended.  *caused_by* is stored with each event.

        Raises:
            Refusal: From *decide*.  Nothing was stored.
            NewerEvent: A newer version wrote some of the stream.  Nothing was stored.
            DamagedEvent: Some of the stream cannot be read.  Nothing was stored.
            LogUnavailable: The append may or may not have been stored.
        """

        async def prepare() -> Prepared:
            return Prepared(decide)

        return await self.change_by_others(stream, prepare, caused_by=caused_by)

    async def change_by_others(
        self,
        stream: str,
        prepare: Callable[[], Awaitable[Prepared]],
        *,
        caused_by: AnyCause,
    ) -> tuple[Sequence[AnyEvent], int]:
        """Append as `change` does, if the streams that *prepare* has read did not move since.

        If one did, nothing was stored, and *prepare* is called again.

        Raises:
            NewerEvent, DamagedEvent, LogUnavailable: As `change`.
            Exception: What *prepare* raises.
        """

        async def attempt(before: FoldedState[Any]) -> tuple[Sequence[AnyEvent], int]:
            decide, unmoved = await prepare()
            events = decide(before.state)
            if not events:
                return (), 0
            failpoints.reach("change.before-append")
            append = Append(stream, before.version, events, caused_by)
            try:
                position = await self.log.append([append, *unmoved])
            except LogUnavailable:
                self.drop(stream)  # it may be stored: the next to decide reads the stream
                raise
            failpoints.reach("change.after-append")
            if self.log.reads_as_given(position):  # else the next to load it reads them
                state = reduce(category_of(stream).evolve, events, before.state)
                self.appended(stream, before, state, events=len(events), last=position)
            return tuple(events), position

        async def attempt_on_newest() -> tuple[Sequence[AnyEvent], int]:
            return await attempt(await self.load(stream))

        async with self.lock(stream):
            remembered = self.remembered(stream)
            if remembered is not None:
                # It may be old.  An append would find that out; to refuse, or to do nothing,
                # the newest state has to be read.
                with suppress(Refusal, DamagedEvent, WrongExpectedVersion):
                    events, position = await attempt(remembered)
                    if events:
                        return events, position
            return await self.retry_on_conflict(attempt_on_newest)

    async def retry_on_conflict(self, attempt: Callable[[], Awaitable[T]]) -> T:
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

    def lock(self, stream: str) -> AbstractAsyncContextManager[None]:
        """Lock *stream* against other writers of this process, so that they queue, not race."""
        return self._stream_locks.of(stream)

    async def wrong_snapshots(self) -> AsyncIterator[Snapshot]:
        """Yield each snapshot that the events of its stream do not fold to.

        One of other rules, or of a stream that cannot be read, is left out.

        Raises:
            LogUnavailable: The log or its snapshots cannot be read now.
        """
        if self._snapshots is None:
            return
        try:
            async for each in self._snapshots.every():
                if each.rules != rules_of(each.stream):
                    continue
                with suppress(DamagedEvent, NewerEvent):
                    state = await replayed(self.log, each.stream, each.version)
                    kind = type(category_of(each.stream).initial)
                    if state is None or each.decoded(kind) != state:
                        yield each
        except SnapshotsUnavailable as error:
            raise LogUnavailable(f"the snapshots could not be read: {error}") from error

    async def _fold_first(self, stream: str) -> FoldedState[Any]:
        """Fold *stream* from its snapshot, or from its first event if there is none to use."""
        category = category_of(stream)
        snapshot = state = None
        rules = rules_of(stream)
        if rules is not None and self._snapshots is not None:
            snapshot = await self._snapshots.find(stream, rules)
            state = snapshot.decoded(type(category.initial)) if snapshot else None
        if snapshot is not None and state is not None:
            # The last event it is made of is read too: is it really in this log?
            new = await self.log.read(stream, snapshot.version - 1, 1)
            if new and new[0].version == snapshot.version:
                start = FoldedState(state, snapshot.version, new[0].position, snapshot.version)
                return await self._fold_new(stream, start)
        return await self._fold_new(stream, FoldedState(category.initial, NO_STREAM, 0))

    async def _fold_new(self, stream: str, folded: FoldedState[Any]) -> FoldedState[Any]:
        """Fold into *folded* what came since, a page at a time: others run in between."""
        category = category_of(stream)
        while True:
            new = await self.log.read(stream, folded.version, PAGE)
            folded = _fold(folded, new, category)
            if len(new) < PAGE:
                return folded
            await asyncio.sleep(0)

    def _remember(self, stream: str, folded: FoldedState[Any]) -> FoldedState[Any]:
        """Put *folded* into memory, unless a newer state of the stream is there."""
        category = category_of(stream)
        states = self._cache[category_name(stream)]
        newest = states.get(stream)
        if newest is None or newest.version < folded.version:
            folded = self._submit_snapshot(stream, folded, category)
            states[stream] = folded
        states.use(stream)
        return folded

    def _submit_snapshot(
        self, stream: str, folded: FoldedState[Any], category: Category
    ) -> FoldedState[Any]:
        """Submit a snapshot of *folded* if one is due and may be made."""
        if folded.version - folded.snapshot < EVERY:
            return folded
        rules = rules_of(stream)
        if rules is None or self._snapshots is None or not category.may_be_stored(folded.state):
            return folded
        state = msgspec.json.encode(folded.state)
        self._snapshots.submit(Snapshot(stream, folded.version, rules, state))
        return msgspec.structs.replace(folded, snapshot=folded.version)


async def replayed(log: EventLog, stream: str, version: int) -> Any:
    """Return the state of *stream* at *version*, folded from its first event.

    Raises:
        NewerEvent, DamagedEvent, LogUnavailable: As `EventLog.read`.
    """
    category = category_of(stream)
    folded = FoldedState(category.initial, NO_STREAM, 0)
    while folded.version < version:
        page = await log.read(stream, folded.version, min(PAGE, version - folded.version))
        if not page:
            return None
        folded = _fold(folded, page, category)
    return folded.state


def _fold(
    folded: FoldedState[Any], new: Sequence[RecordedEvent], category: Category
) -> FoldedState[Any]:
    if not new:
        return folded
    state = folded.state
    for recorded in new:
        try:
            state = category.evolve(state, recorded.event)
        except Exception as error:  # it can be read, but no version can have written it
            place = recorded.position, recorded.stream, recorded.version
            raise DamagedEvent.of(*place, error) from error
    return msgspec.structs.replace(
        folded, state=state, version=new[-1].version, position=new[-1].position
    )
