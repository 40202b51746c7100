"""Reading what one event came of and what it led to: ``cs events why``.

A cause is stored as whoever appended knew it (`cs.domain.causation`): an answer names the work
that it answers, a timer what it was.  Here that leads to an event: an answer follows the
*stage issued* that asked for it, a retry the attempt that failed, the end of a run what was
stored with it.  Origins are what no event led to: a call, a command, the ageing of people.
Every event follows earlier ones only, so a chain ends.

Nothing is opened for it: people are in it by their number in a lookup.
"""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import (
    AttemptFailed,
    ContactsErased,
    LookupFinished,
    LookupStarted,
    StageIssued,
)
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    OperatorCause,
    StartCause,
    TimerCause,
)
from cs.domain.codec import AnyEvent, event_of, shapes
from cs.domain.key import SearchAdmitted, SearchSettled
from cs.eventlog.port import EVERYTHING, EventLog, SealedEvent, Where
from cs.eventlog.stored_cause import cause_in
from cs.history.history import UNREADABLE, WINDOW, Progress, damaged, unseen

#: Events of one admission: a search, its run, and the first work.
_ADMISSION = 3
#: A run that has ended, whose searches are all settled, is read so much further: who joined it
#: as it ended is stored seconds later, and what it taught when a driver comes to it.
AFTER_THE_END = timedelta(hours=1)
#: Ids of answers (docs/topics.md): an item is a mail domain, or nothing.
_ANSWER = re.compile(r"(?P<lookup>[^/]+)/(?P<stage>[^/]+)/(?P<item>.*)/(?P<attempt>\d+)/[^/]+")

#: What an event may be followed for: the last one of each is remembered.
Mark = tuple[str | int, ...]


class _Person(msgspec.Struct, frozen=True):
    person: str


class EventFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """What any event may say that tells of its place in a chain of causes."""

    at: datetime
    lookup: str | None = None
    search: str | None = None
    stage: str | None = None
    item: str = ""
    attempt: int | None = None
    mail_domain: str | None = None
    checked: _Person | None = None
    outcome: str | None = None
    verified: int | None = None
    charged: bool | None = None
    cached: bool | None = None
    why: str | None = None


_FIELDS = msgspec.json.Decoder(EventFields)


class CausedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event in a chain of causes.

    Attributes:
        topic: Its type.
        of: Which event that is; ``None``: a newer version's.
        said: What it says.
        caused_by: Its cause; ``None``: not recorded.
        follows: The positions of the events that it comes of, first the one that led to it.
    """

    position: int
    stream: str
    version: int
    topic: str
    of: type[AnyEvent] | None
    said: EventFields
    caused_by: AnyCause | None
    follows: tuple[int, ...] = ()

    def is_a(self, *types: type[AnyEvent]) -> bool:
        return self.of in types

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values; what is not known or not said is left out."""
        return {
            "position": self.position,
            "stream": self.stream,
            "version": self.version,
            "type": self.topic,
            "caused_by": msgspec.to_builtins(self.caused_by),
            "follows": self.follows,
            **msgspec.to_builtins(self.said),
        }


class Explanation(msgspec.Struct, frozen=True):
    """One event, what it came of and what came of it, each in order of position."""

    event: CausedEvent
    before: Sequence[CausedEvent]
    after: Sequence[CausedEvent]


async def explain(
    log: EventLog, position: int, progress: Progress = unseen
) -> Explanation | None:
    """Return why the event at *position* of *log* came about; ``None``: there is none.

    The events of one run and its searches are held in memory.

    Raises:
        LogUnavailable: The log cannot be read now.
        DamagedEvent: What is stored there is no event.
    """
    row = await _at(log, position)
    if row is None:
        return None
    try:
        asked = _caused(row)
    except UNREADABLE as error:
        raise damaged(row, error) from None
    chains = Chains()
    async for event in _related(log, asked, progress):
        if event.position > position and position not in chains.events:
            chains.add(asked)
        chains.add(event)
    asked = chains.events.get(position) or chains.add(asked)
    before = {p: event.follows for p, event in chains.events.items()}
    after: dict[int, list[int]] = {}
    for event in chains.events.values():
        for each in event.follows:
            after.setdefault(each, []).append(event.position)
    return Explanation(asked, chains.reached(position, before), chains.reached(position, after))


class Chains:
    """Links events that are added in order of position; those of one run and its searches."""

    def __init__(self) -> None:
        self.events: dict[int, CausedEvent] = {}
        self._marked: dict[Mark, int] = {}
        self._together: list[CausedEvent] = []  # what was just stored in one append

    def add(self, event: CausedEvent) -> CausedEvent:
        """Add *event*; return it with what it follows."""
        last = self._together[-1] if self._together else event
        # Positions of one append have no gaps, and its events one cause.
        if event.position != last.position + 1 or event.caused_by != last.caused_by:
            self._together = []
        event = replace(event, follows=tuple(dict.fromkeys(self._follows(event))))
        self.events[event.position] = event
        self._together.append(event)
        self._marked.update((mark, event.position) for mark in _marks(event))
        return event

    def reached(
        self, position: int, edges: Mapping[int, Sequence[int]]
    ) -> Sequence[CausedEvent]:
        """Return all that *edges* lead to from *position*, in order of position."""
        seen, waiting = {position}, [position]
        while waiting:
            new = {e for e in edges.get(waiting.pop(), ()) if e in self.events} - seen
            seen |= new
            waiting += new
        return [self.events[each] for each in sorted(seen - {position})]

    def _follows(self, event: CausedEvent) -> Iterator[int]:
        said = event.said
        if event.is_a(SearchSettled):
            if not said.cached:
                yield from self._last(("finished", said.lookup or ""))
            yield from self._last(("admitted", said.search or ""))
            return
        issued_again = event.is_a(StageIssued) and isinstance(
            event.caused_by, TimerCause | StartCause
        )
        if event.is_a(StageIssued, LookupFinished, LookupStarted) and not issued_again:
            for each in reversed(self._together):
                if each.said.lookup == said.lookup and not each.is_a(StageIssued):
                    yield each.position
                    return
        yield from self._led_by(event)

    def _led_by(self, event: CausedEvent) -> Iterator[int]:
        """Yield the event that the cause of *event* points to, if one does."""
        said = event.said
        lookup, stage, item = said.lookup or "", said.stage or "", said.item
        match event.caused_by:
            case EventCause(position=position) if position in self.events:
                yield position
            case MessageCause(id=id_):
                yield from self._last(*_work_of(id_))
            case TimerCause(timer="retry"):
                yield from self._last(("failed", lookup, stage, item), ("started", lookup))
            case TimerCause(timer="silence" | "mended") | StartCause():
                yield from self._last(("work", lookup, stage, item), ("started", lookup))
            case TimerCause(timer="deadline"):
                yield from self._last(("started", lookup))
            case _:
                pass

    def _last(self, *marks: Mark) -> Iterator[int]:
        """Yield the last event with the first of *marks* that any event has."""
        yield from [self._marked[mark] for mark in marks if mark in self._marked][:1]


def _marks(event: CausedEvent) -> Iterable[Mark]:
    """Return what *event* may be followed for."""
    said = event.said
    work = (said.lookup or "", said.stage or "", said.item)
    if event.is_a(StageIssued):
        return (("attempt", *work, said.attempt or 0), ("work", *work))
    if event.is_a(AttemptFailed):
        return (("failed", *work),)
    if event.is_a(LookupStarted):
        return (("started", work[0]),)
    if event.is_a(LookupFinished):
        return (("finished", work[0]),)
    return (("admitted", said.search or ""),) if event.is_a(SearchAdmitted) else ()


def _work_of(id_: str) -> Iterable[Mark]:
    """Return the marks of the work that the message *id_* answers, the exact one first."""
    answer = _ANSWER.fullmatch(id_)
    if answer is None:
        return ()
    work = (answer["lookup"], answer["stage"], answer["item"])
    return (("attempt", *work, int(answer["attempt"])), ("work", *work), ("started", work[0]))


def _lookup_of_message(id_: str) -> str:
    return id_.partition("/")[0]


async def _at(log: EventLog, position: int) -> SealedEvent | None:
    rows = await log.select(EVERYTHING, position - 1, position) if position > 0 else ()
    return rows[0] if rows else None


async def _related(
    log: EventLog, asked: CausedEvent, progress: Progress
) -> AsyncIterator[CausedEvent]:
    """Yield what may be linked to *asked*, in order of position."""
    if asked.is_a(SearchAdmitted, SearchSettled):
        first = asked.position - asked.is_a(SearchSettled)
        rows = await log.select(EVERYTHING, first - 1, first + 1)
        theirs = [e for e in _readable(rows) if e.said.search == asked.said.search]
        if any(each.said.cached for each in theirs):  # answered from an earlier run
            for event in theirs:
                yield event
            return
    lookup = await _lookup_of(log, asked)
    if lookup is not None:
        async for event in _of_run(log, lookup, asked.position, progress):
            yield event


async def _lookup_of(log: EventLog, asked: CausedEvent) -> str | None:
    """Return the run that *asked* is to be understood by."""
    match asked.caused_by:
        case MessageCause(id=id_):
            return _lookup_of_message(id_)
        case OperatorCause() | TimerCause(timer="ageing"):
            return None
        case EventCause(position=position) if asked.said.lookup is None:
            row = await _at(log, position)
            causes = [] if row is None else [*_readable([row])]
            return causes[0].said.lookup if causes else None
    return None if asked.is_a(ContactsErased) else asked.said.lookup


async def _of_run(
    log: EventLog, lookup: str, position: int, progress: Progress
) -> AsyncIterator[CausedEvent]:
    """Yield everything that has to do with *lookup*, from its admission on.

    At least up to *position*, and until nothing of it is open.
    """
    head = await log.head()
    stream = Where(streams=frozenset({stream_of(lookup)}))
    own = {
        event.position: event
        for event in _readable(await log.select(stream, 0, head))
        if event.said.lookup == lookup
    }
    began = next((p for p, event in own.items() if event.is_a(LookupStarted)), None)
    if began is None:
        return
    ended = next((e.said.at for e in own.values() if e.is_a(LookupFinished)), None)
    after = max(began - _ADMISSION, 0)
    known: set[int] = set()
    searches: set[str | None] = set()  # that wait
    while after < head:
        end = min(after + WINDOW, head)
        others = _readable(await log.select(_OTHERS, after, end))
        theirs = {p: event for p, event in own.items() if after < p <= end}
        theirs.update((event.position, event) for event in others)
        for at in sorted(theirs):
            event = theirs[at]
            is_past = ended is not None and event.said.at - ended > AFTER_THE_END
            if is_past and not searches and at > position:
                return
            if not _is_of(event, lookup, known):
                continue
            known.add(at)
            if event.is_a(SearchAdmitted):
                searches.add(event.said.search)
            elif event.is_a(SearchSettled):
                searches.discard(event.said.search)
            yield event
        after = end
        progress(end, head)


def _is_of(event: CausedEvent, lookup: str, known: set[int]) -> bool:
    """Return whether *event* has to do with *lookup*, of which the positions *known* are."""
    match event.caused_by:
        case MessageCause(id=id_):
            return _lookup_of_message(id_) == lookup
        case EventCause(position=position) if position in known:
            return True
    return event.said.lookup == lookup


#: What a run may lead to outside its brand's stream.
_OTHERS = Where(
    topics=frozenset(
        topic
        for topic in shapes()
        if not topic.startswith("brand.") or event_of(topic) is ContactsErased
    )
)


def _caused(row: SealedEvent) -> CausedEvent:
    return CausedEvent(
        position=row.position,
        stream=row.stream,
        version=row.version,
        topic=row.topic,
        of=event_of(row.topic),
        said=_FIELDS.decode(row.state),
        caused_by=cause_in(row.state),
    )


def _readable(rows: Iterable[SealedEvent]) -> Iterator[CausedEvent]:
    """Yield the events in *rows* that are not damaged."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield _caused(row)
