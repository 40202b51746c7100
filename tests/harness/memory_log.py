"""The event log in memory, for tests.  Bytes and all: what is stored is decoded on reading."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from cs.domain.rate_limits import DAY, opens_after
from cs.eventlog.mapper import NewEvent, domain_form, readable, store_form
from cs.eventlog.port import (
    EVERYBODY,
    NO_STREAM,
    Append,
    Ceiling,
    CeilingReached,
    EventNeeds,
    RecordedEvent,
    SealedEvent,
    Where,
    WrongExpectedVersion,
)
from cs.eventlog.table_log import RecentEvents, joined
from cs.keystore.port import KeyStore


class MemoryEventLog:
    def __init__(self, keys: KeyStore) -> None:
        self._keys = keys
        self._events: list[NewEvent] = []
        self._streams: dict[str, list[int]] = {}  # where the events of each are
        self._starts: list[datetime] = []
        self._recent = RecentEvents()
        self._as_given = 0  # the last position, if what was appended last reads as it was given

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        stored, as_given = await store_form(self._keys, appends)
        for append in joined(appends):
            found = len(self._streams.get(append.stream, ())) - 1
            if found != append.expected:
                raise WrongExpectedVersion(append.stream, append.expected, found)
        if ceiling is not None:
            opens_at = await self.ceiling_opens_at(ceiling)
            if opens_at is not None:
                raise CeilingReached(opens_at)
            self._starts.append(ceiling.at)
        for event in stored:
            self._events.append(event)
            self._streams.setdefault(event.stream, []).append(len(self._events))
        self._as_given = len(self._events) if as_given else 0
        self._recent.moved(len(self._events))
        return len(self._events)

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        positions = self._streams.get(stream, ())
        page = positions[after + 1 : None if limit is None else after + 1 + limit]
        rows = _stored((n, self._events[n - 1]) for n in page)
        return await domain_form(self._keys, rows)

    async def tail(
        self, after: int, limit: int = 500, wanted: EventNeeds | None = None
    ) -> Sequence[RecordedEvent]:
        stored = _stored(enumerate(self._events[after : after + limit], after + 1))
        page = readable(stored)
        return await domain_form(self._keys, page, wanted or EVERYBODY)

    async def stored(self, after: int, limit: int = 500) -> Sequence[SealedEvent]:
        return _stored(enumerate(self._events[after : after + limit], after + 1))

    async def select(self, where: Where, after: int, upto: int) -> Sequence[SealedEvent]:
        page = _stored(enumerate(self._events[after:upto], after + 1))
        return [stored for stored in page if where.holds(stored.stream, stored.topic)]

    def spoil(self, position: int, state: bytes) -> bytes:
        """Put *state* in the place of the stored bytes of an event; return those."""
        event = self._events[position - 1]
        self._events[position - 1] = event._replace(state=state)
        return event.state

    async def head(self) -> int:
        return len(self._events)

    async def grown(self, after: int) -> None:
        await self._recent.wait(after)

    def reads_as_given(self, position: int) -> bool:
        return position == self._as_given

    async def ceiling_opens_at(self, ceiling: Ceiling) -> datetime | None:
        if ceiling.limit is None or len(self._starts) < ceiling.limit:
            return None
        if ceiling.limit == 0:
            return ceiling.at + DAY
        return opens_after(self._starts[-ceiling.limit], ceiling.at)


def _stored(numbered: Iterable[tuple[int, NewEvent]]) -> list[SealedEvent]:
    return [SealedEvent(n, *e) for n, e in numbered]
