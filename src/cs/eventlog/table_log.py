"""What an event log over a table of stored events does, whichever database holds it.

Positions have no gaps and become visible in their order, so what a page or a stream lacks
is damage and is raised as such; and events in memory follow each other if their positions
do, whoever wrote the others.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from functools import partial
from itertools import takewhile
from operator import attrgetter, itemgetter

import msgspec
from eventsourcing.persistence import StoredEvent
from msgspec.structs import replace

from cs.domain.codec import event_of
from cs.eventlog.append_counts import counted_append
from cs.eventlog.categories import category_name
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.group_writer import GroupWriter
from cs.eventlog.mapper import (
    FORGETTING,
    DataKeys,
    StoredRow,
    envelopes,
    readable,
    recorded,
    store_form,
    topics_left_out,
)
from cs.eventlog.port import (
    EVERYBODY,
    NO_STREAM,
    Append,
    Ceiling,
    EventNeeds,
    RecordedEvent,
    SealedEvent,
    Where,
)
from cs.eventlog.recent import RecentEvent, RecentEvents
from cs.keystore.errors import KeysUnavailable
from cs.metrics.metrics import Metrics

#: Makes one of a row, three times as fast as the type does by itself.
_sealed_event: Callable[[StoredRow], SealedEvent] = partial(tuple.__new__, SealedEvent)


class PreparedAppend(msgspec.Struct, frozen=True):
    """One append, ready to store.

    Attributes:
        appends: One for each stream.
        given: The same as it was given, perhaps several for one stream.
        as_given: As in `StoreForm`.
    """

    appends: Sequence[Append]
    stored: Sequence[StoredEvent]
    ceiling: Ceiling | None
    given: Sequence[Append] = ()
    as_given: bool = True


def joined(appends: Sequence[Append]) -> Sequence[Append]:
    """Return *appends* with one for each stream: those that follow each other are one.

    Raises:
        ValueError: They do not follow each other.
    """
    if len(appends) == 1:
        return appends
    found: dict[str, Append] = {}
    for each in appends:
        before = found.get(each.stream)
        if before is None:
            found[each.stream] = each
        elif each.expected != before.expected + len(before.events):
            raise ValueError(f"appends to {each.stream} do not follow each other")
        else:
            found[each.stream] = replace(before, events=(*before.events, *each.events))
    return list(found.values())


class TableLog(ABC):
    """Base of the SQLite and PostgreSQL logs: seals and checks; they read and write rows.

    Args:
        keys: What seals and opens personal values.
        waiting: Appends that may wait to be written; one more is `LogUnavailable`.
        metrics: Where appends are counted.

    Attributes:
        wanted: What is read of events where nobody says otherwise.
    """

    def __init__(
        self, keys: DataKeys, *, waiting: int | None, metrics: Metrics | None = None
    ) -> None:
        self.wanted = EVERYBODY
        self._keys = keys
        self._metrics = metrics or Metrics()
        self._recent = RecentEvents()
        self._reading = asyncio.Lock()
        self._unread: frozenset[str] | None = None  # topics that no follower wants
        self._writer = GroupWriter[PreparedAppend, int](
            self._write_batch, self._wrote, waiting=waiting
        )
        self._metrics.appends_waiting.measure(lambda: self._writer.waiting)

    async def _write_batch(
        self, requests: Sequence[PreparedAppend]
    ) -> Sequence[int | Exception]:
        self._metrics.append_batch.of().observe(len(requests))
        return await self._write(requests)

    @abstractmethod
    async def _write(self, requests: Sequence[PreparedAppend]) -> Sequence[int | Exception]:
        """Store each request; return its last position, or why it was not stored."""

    @abstractmethod
    async def _select_stream(
        self, stream: str, after: int, limit: int | None
    ) -> Sequence[StoredRow]:
        """Return rows of *stream* after version *after*, in order of version."""

    @abstractmethod
    async def _select_page(
        self, after: int, limit: int, unread: Collection[str]
    ) -> Sequence[StoredRow]:
        """Return rows after position *after*, in order of position.

        The state of those with a topic in *unread* is empty: it is not fetched.
        """

    @abstractmethod
    async def _select_where(self, where: Where, after: int, upto: int) -> Sequence[StoredRow]:
        """Return rows of *where* after position *after* up to *upto*, in order of position."""

    @abstractmethod
    async def _last_position(self) -> int:
        """Return the last stored position; 0 if there is none."""

    def _knows_head(self) -> bool:
        """Return whether the last position was ever read; before, the log only looks empty."""
        return True

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        with counted_append(self._metrics):
            return await self._append(appends, ceiling)

    async def _append(self, appends: Sequence[Append], ceiling: Ceiling | None) -> int:
        try:
            form = await store_form(self._keys, list(envelopes(appends)))
        except KeysUnavailable as error:
            raise LogUnavailable(f"the data keys could not be stored: {error}") from error
        prepared = PreparedAppend(
            joined(appends), form.stored, ceiling, given=appends, as_given=form.as_given
        )
        return await self._writer.submit(prepared)

    def _wrote(self, request: PreparedAppend, last: int) -> None:
        position = last - len(request.stored)
        stored = iter(request.stored)
        events = []
        for append in request.given or request.appends:
            category = category_name(append.stream)
            self._metrics.events_appended.of(category).inc(len(append.events))
            for n, event in enumerate(append.events, 1):
                position += 1
                place, form = (position, append.stream, append.expected + n), next(stored)
                if request.as_given:
                    opened = RecordedEvent(*place, event, append.caused_by)
                    size = len(form.state)
                    events.append(
                        RecentEvent(*place, form.topic, None, opened=opened, size=size)
                    )
                else:  # it is read as it was stored
                    events.append(RecentEvent(*place, form.topic, form.state))
        self._recent.add(events)

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        rows = await self._select_stream(stream, after, limit)
        if not rows:
            return ()  # as at most calls
        if rows[-1][2] != after + len(rows):
            version = next(n for n, row in enumerate(rows, after + 1) if row[2] != n)
            why = f"the log is damaged: an event of {stream} is missing"
            raise DamagedEvent(0, stream, version, why)
        return await recorded(self._keys, rows, self.wanted)

    def reads_as_given(self, position: int) -> bool:
        return self._recent.is_opened(position)

    async def tail(
        self, after: int, limit: int = 500, wanted: EventNeeds | None = None
    ) -> Sequence[RecordedEvent]:
        wanted = wanted or self.wanted
        if after + limit <= self._recent.floor:
            rows = await self._page(after, limit, topics_left_out(wanted))
            return await recorded(self._keys, readable(rows, itemgetter(3)), wanted)
        newest = await self._newest(after, limit, wanted)
        events = readable(newest, attrgetter("topic"))
        found = {each.position: each.taken(wanted) for each in events}
        left = [each for each in events if found[each.position] is None]
        try:
            decoded = await recorded(self._keys, [each.row for each in left], wanted)
        except (DamagedEvent, NewerEvent) as error:
            self._recent.drop(error.position)  # the store may have another one later
            raise
        for each, event in zip(left, decoded, strict=True):
            each.keep(event, wanted)
            found[each.position] = event
        return [event for event in found.values() if event is not None]

    async def _newest(self, after: int, limit: int, wanted: EventNeeds) -> list[RecentEvent]:
        """Return events after position *after*, what is *wanted* of them at hand."""
        found = self._in_memory(after, limit, wanted)
        if self._is_all(found, after, limit):
            return found
        async with AsyncExitStack() as stack:
            unread = topics_left_out(wanted)
            if after >= self._recent.floor:
                # What others want too is read once, by the first of them.
                await stack.enter_async_context(self._reading)
                found = self._in_memory(after, limit, wanted)
                if self._is_all(found, after, limit):
                    return found
                if self._unread is not None:
                    unread &= self._unread
                self._unread = unread
            upto = found[-1].position if found else after
            rows = await self._page(upto, limit - len(found), unread)
            if any(event_of(row[3]) in FORGETTING for row in rows):
                self._keys.forget()  # also if nobody here reads those events
            read = (RecentEvent(*row[:4], None if row[3] in unread else row[4]) for row in rows)
            return [*found, *self._recent.read(list(read))]

    def _in_memory(self, after: int, limit: int, wanted: EventNeeds) -> list[RecentEvent]:
        if not self._knows_head():
            return []
        return list(
            takewhile(lambda each: each.serves(wanted), self._recent.after(after, limit))
        )

    def _is_all(self, found: Sequence[RecentEvent], after: int, limit: int) -> bool:
        """Return whether the store has nothing to add to what was *found* in memory."""
        if len(found) == limit:
            return True
        upto = found[-1].position if found else after
        return self._knows_head() and upto >= self._recent.head

    async def stored(self, after: int, limit: int = 500) -> Sequence[SealedEvent]:
        return [SealedEvent(*row) for row in await self._page(after, limit)]

    async def select(self, where: Where, after: int, upto: int) -> Sequence[SealedEvent]:
        return list(map(_sealed_event, await self._select_where(where, after, upto)))

    async def _page(
        self, after: int, limit: int, unread: Collection[str] = ()
    ) -> Sequence[StoredRow]:
        rows = await self._select_page(after, limit, unread)
        if rows and rows[-1][0] != after + len(rows):
            position = next(n for n, row in enumerate(rows, after + 1) if row[0] != n)
            why = f"the log is damaged: an event after {after} is missing"
            raise DamagedEvent(position, "", NO_STREAM, why)
        for row in rows:
            if "\ufffd" in row[1]:  # nobody knows which stream's it was
                why = f"the log is damaged: the stream of event {row[0]} cannot be read"
                raise DamagedEvent(row[0], "", NO_STREAM, why)
        if not rows and limit and after < self._recent.head:
            raise LogUnavailable(f"the log is damaged: an event after {after} is missing")
        return rows

    async def head(self) -> int:
        self._recent.moved(await self._last_position())  # so that `tail` goes that far
        return self._recent.head

    async def grown(self, after: int) -> None:
        await self._recent.wait(after)
