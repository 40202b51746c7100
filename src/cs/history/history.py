"""Reading the log as history: selected events in order, and states as they were."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from cs.domain.brand.brand import stream_of
from cs.eventlog.categories import category_of
from cs.eventlog.mapper import recorded
from cs.eventlog.port import (
    EVERYTHING,
    NO_STREAM,
    DamagedEvent,
    EventLog,
    NewerEvent,
    RecordedEvent,
    SealedEvent,
)
from cs.eventlog.streams import PAGE
from cs.history.runs import Run, runs
from cs.history.selection import Selection
from cs.keystore.port import KeyStore

#: Positions that are read at once: the bound of memory, and the work of a store between two
#: reports of progress.
WINDOW = 5_000
#: The same where streams are read by their names: each read goes through all of them.
STREAM_WINDOW = 50_000
#: How far events of neighbouring positions may be out of the order of their times: those of
#: appends that waited for each other.
OUT_OF_ORDER = 500

#: Errors of decoding a damaged event.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
#: Every event.
ALL = Selection()


class HistoryEvent(NamedTuple):
    """One event as it is stored, people sealed.

    Attributes:
        position: In the whole log, from 1.
        stream: The name of its stream.
        version: Its place in its stream, from 0.
        topic: Its type, ``<category>.<event>.v<n>``.
        state: Its JSON, as it is stored.
        at: When it happened, UTC.
        lookup: The lookup that it names, if it names one.
    """

    position: int
    stream: str
    version: int
    topic: str
    state: bytes
    at: datetime
    lookup: str | None

    def data(self) -> dict[str, Any]:
        """Return its JSON decoded, with people sealed."""
        plain: dict[str, Any] = msgspec.json.decode(self.state)
        return plain


class StateAt(msgspec.Struct, frozen=True):
    """The state of a stream as it was.

    Attributes:
        state: The state that `cs.domain` folds from its events.
        version: The version of the last event in it; -1 if there was none.
        position: The position of that event; 0 if there was none.
    """

    state: Any
    version: int
    position: int


class _EventHead(msgspec.Struct, frozen=True, gc=False):
    at: datetime
    lookup: str | None = None


_HEAD = msgspec.json.Decoder(_EventHead)

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)

#: Called with the progress of reading: the last position read, and the last one to read.
Progress = Callable[[int, int], None]
#: Called with an unreadable event; an error that it raises ends the reading.
Unreadable = Callable[[DamagedEvent | NewerEvent], None]


def unseen(_position: int, _upto: int) -> None:
    """Show no progress."""


def refuse(error: DamagedEvent | NewerEvent) -> None:
    """Raise *error*: an unreadable event ends the reading."""
    raise error


def pass_over(_: DamagedEvent | NewerEvent) -> None:
    """Leave out an unreadable event."""


class History:
    """The history in *log*."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def events(
        self, selection: Selection = ALL, progress: Progress = unseen
    ) -> AsyncIterator[HistoryEvent]:
        """Yield the events of *selection* that are stored now, in order of position.

        *progress* is called after every `WINDOW` positions, or `STREAM_WINDOW`.

        Raises:
            LogUnavailable: The log cannot be read now.
            DamagedEvent: A stored event cannot be read, or is missing where all events are
                selected (``cs log verify`` finds them all).
        """
        async for page in self.pages(selection, progress):
            for event in page:
                yield event

    async def pages(
        self,
        selection: Selection = ALL,
        progress: Progress = unseen,
        unreadable: Unreadable = refuse,
    ) -> AsyncIterator[list[HistoryEvent]]:
        """Yield the events of `events` in lists, one for each `WINDOW` positions.

        Of selected streams one for each `STREAM_WINDOW`.

        *unreadable* is called with each damaged or missing event.

        Raises:
            LogUnavailable, DamagedEvent: As `events`.
        """
        where = selection.where()
        after, upto = await self._limits(selection)
        by_stream = bool(where.streams) and not where.prefixes
        window = STREAM_WINDOW if by_stream else WINDOW
        while after < upto:
            end = min(after + window, upto)
            stored = await self._log.select(where, after, end)
            if where == EVERYTHING:
                for missing in _missing(stored, after, end):
                    unreadable(missing)
            page = list[HistoryEvent]()
            for each in stored:
                try:
                    event = _history_event(each)
                except DamagedEvent as error:
                    unreadable(error)
                    continue
                if selection.holds(event.stream, event.at, event.lookup):
                    page.append(event)
            yield page
            after = end
            progress(after, upto)

    async def _limits(self, selection: Selection) -> tuple[int, int]:
        """Return the position after which *selection* begins, and its last one."""
        upto = await self.head()
        if selection.upto is not None:
            upto = min(upto, selection.upto)
        if selection.until is not None and upto:
            upto = min(upto, await self.position_at(selection.until))
        after = max(selection.after, 0)
        if selection.since is not None and after < upto:
            after = max(after, await self.position_at(selection.since) - OUT_OF_ORDER)
        return after, upto

    async def head(self) -> int:
        """Return the last position there is."""
        return await self._log.head()

    async def is_there(self, stream: str) -> bool:
        """Return whether *stream* has an event, damaged ones included."""
        try:
            return bool(await self._log.read(stream, NO_STREAM, 1))
        except (DamagedEvent, NewerEvent):
            return True

    async def position_at(self, at: datetime) -> int:
        """Return the last position of an event that had happened by *at*; 0: none had.

        Events stand nearly in the order of their times: those that were appended at once may
        be `OUT_OF_ORDER` by so many positions, which are looked at one by one.
        """
        low, high = 0, await self.head()
        while low < high:  # the last position at or before *at*, if all were in order
            middle = (low + high + 1) // 2
            if await self._happened(middle) <= at:
                low = middle
            else:
                high = middle - 1
        found = low
        for stored in await self._log.select(EVERYTHING, low, low + OUT_OF_ORDER):
            happened = _at_of(stored)
            if happened is not None and happened <= at:
                found = stored.position
        return found

    async def state_at(self, stream: str, position: int | None = None) -> StateAt:
        """Return the state of *stream* as it was when *position* was the log's last.

        ``None``: now.  Of a stream that never was, it is the state before the first event.

        Raises:
            LogUnavailable: The log cannot be read now.
            DamagedEvent: Some of the stream cannot be read.
            NewerEvent: A newer version wrote some of it.
        """
        state = StateAt(category_of(stream).initial, NO_STREAM, 0)
        async for _, state in self.states(stream, position):  # noqa: B007  the last one
            pass
        return state

    async def states(
        self, stream: str, position: int | None = None
    ) -> AsyncIterator[tuple[RecordedEvent, StateAt]]:
        """Yield each event of *stream* up to *position*, and the state that it made.

        Raises:
            LogUnavailable, DamagedEvent, NewerEvent: As `state_at`.
        """
        category = category_of(stream)
        state = category.initial
        async for event in self.stream(stream, position):
            state = category.evolve(state, event.event)
            yield event, StateAt(state, event.version, event.position)

    async def stream(
        self, stream: str, position: int | None = None
    ) -> AsyncIterator[RecordedEvent]:
        """Yield the events of *stream*, people opened, up to *position* of the log.

        Raises:
            LogUnavailable, DamagedEvent, NewerEvent: As `state_at`.
        """
        version = NO_STREAM
        while True:
            page = await self._log.read(stream, version, PAGE)
            for event in page:
                if position is not None and event.position > position:
                    return
                yield event
            if len(page) < PAGE:
                return
            version = page[-1].version
            await asyncio.sleep(0)  # others run in between

    async def runs(self, stream: str, position: int | None = None) -> list[Run]:
        """Return the live runs of the brand of *stream*, as of *position*, the first one first.

        Raises:
            LogUnavailable, DamagedEvent, NewerEvent: As `state_at`.
        """
        return runs([event async for event in self.stream(stream, position)])

    async def run(self, lookup: str, position: int | None = None) -> Run | None:
        """Return the live run *lookup* as of *position*; ``None``: it had not begun.

        Raises:
            LogUnavailable, DamagedEvent, NewerEvent: As `state_at`.
        """
        events = self.stream(stream_of(lookup), position)
        own = [each async for each in events if getattr(each.event, "lookup", None) == lookup]
        return next(iter(runs(own)), None)

    async def _happened(self, position: int) -> datetime:
        """Return when the last event up to *position* happened that can be read."""
        while position:
            for stored in await self._log.select(EVERYTHING, position - 1, position):
                happened = _at_of(stored)
                if happened is not None:
                    return happened
            position -= 1
        return _BEFORE_ALL


def _at_of(stored: SealedEvent) -> datetime | None:
    """Return when *stored* happened; ``None``: it is damaged."""
    try:
        return _HEAD.decode(stored.state).at
    except UNREADABLE:
        return None


def _missing(stored: Sequence[SealedEvent], after: int, upto: int) -> Iterator[DamagedEvent]:
    """Yield the errors that say which events after *after* up to *upto* are not in *stored*."""
    if len(stored) == upto - after:
        return
    there = {event.position for event in stored}
    for position in range(after + 1, upto + 1):
        if position not in there:
            why = f"the log is damaged: the event at position {position} is missing"
            yield DamagedEvent(position, "", NO_STREAM, why)


def _history_event(stored: SealedEvent) -> HistoryEvent:
    try:
        head = _HEAD.decode(stored.state)
    except UNREADABLE as error:
        raise DamagedEvent.of(*stored[:3], error) from error
    return HistoryEvent(*stored, head.at, head.lookup)


async def opened(
    keys: KeyStore, events: Sequence[SealedEvent | HistoryEvent], unreadable: Unreadable
) -> list[RecordedEvent]:
    """Return *events* with the people in them opened, all in memory at once.

    A person whose data key was destroyed, or is lost, reads as erased.  Events that are damaged
    or of a newer version are left out, and *unreadable* is called with them.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    try:
        return [*await recorded(keys, [event[:5] for event in events])]
    except (DamagedEvent, NewerEvent):
        pass
    found = list[RecordedEvent]()
    for event in events:
        try:
            found += await recorded(keys, [event[:5]])
        except (DamagedEvent, NewerEvent) as error:
            unreadable(error)
    return found
