"""What led to an event and what came of it: ``cs events why``.

A cause is stored as whoever appended knew it (`cs.domain.causation`).  Here it leads to an
event: an answer follows the *stage issued* that asked for it, a retry the attempt that failed,
the end of a run what was stored with it.  Every event follows earlier ones only, so a chain
ends, at a call, a command or the ageing of people.

Nothing is opened: people are in it by their number in a lookup.
"""

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import stream_of
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    StartCause,
    TimerCause,
)
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
#: Events that follow what was stored with them.
_WITH_ANOTHER = {"lookup-started", "lookup-finished", "stage-issued"}
#: Kind, search or lookup, stage, item, and also attempt: the last such event is remembered.
Mark = tuple[str | int | None, ...]


class _Person(msgspec.Struct, frozen=True):
    person: str


class EventFields(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of any event that place it in a chain of causes."""

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
        topic: Its type, ``<category>.<event>.v<n>``.
        caused_by: Its cause; ``None``: not recorded.
        follows: The positions of the events that it comes of, first the one that led to it.
    """

    position: int
    stream: str
    version: int
    topic: str
    said: EventFields
    caused_by: AnyCause | None
    follows: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """Return its type without category and version."""
        return self.topic.split(".")[1]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values, without fields that it does not have."""
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
    rows = await log.select(EVERYTHING, position - 1, position) if position > 0 else ()
    if not rows:
        return None
    try:
        asked = _caused(rows[0])
    except UNREADABLE as error:
        raise damaged(rows[0], error) from None
    found = {position: asked}
    async for event in _related(log, asked, progress):
        found[event.position] = event
    events = _linked(found[each] for each in sorted(found))
    before = {event.position: event.follows for event in events.values()}
    after: dict[int, list[int]] = {}
    for event in events.values():
        for each in event.follows:
            after.setdefault(each, []).append(event.position)
    return Explanation(
        events[position],
        [events[each] for each in _reached(position, before)],
        [events[each] for each in _reached(position, after)],
    )


def _reached(position: int, edges: Mapping[int, Sequence[int]]) -> Sequence[int]:
    """Return all that *edges* lead to from *position*, in order."""
    seen, waiting = {position}, [position]
    while waiting:
        new = set(edges.get(waiting.pop(), ())) - seen
        seen |= new
        waiting += new
    return sorted(seen - {position})


def _linked(events: Iterable[CausedEvent]) -> dict[int, CausedEvent]:
    """Return *events*, which are in order, by position and with what each follows."""
    found: dict[int, CausedEvent] = {}
    last: dict[Mark, int] = {}
    together: list[CausedEvent] = []  # stored in one append
    for event in events:
        before = together[-1] if together else event
        # Positions of one append have no gaps, and its events one cause.
        if event.position != before.position + 1 or event.caused_by != before.caused_by:
            together = []
        follows = [each for each in _follows(event, together, last) if each in found]
        linked = replace(event, follows=tuple(dict.fromkeys(follows)))
        found[event.position] = linked
        together.append(linked)
        said = event.said
        mark = (event.kind, said.search or said.lookup, said.stage, said.item)
        last[mark] = last[*mark, said.attempt] = event.position
    return found


def _follows(
    event: CausedEvent, together: Sequence[CausedEvent], last: Mapping[Mark, int]
) -> Iterator[int]:
    """Yield the positions that *event* follows, also of events that are not there."""

    def first(marks: Iterable[Mark]) -> Iterator[int]:
        yield from [last[mark] for mark in marks if mark in last][:1]

    said, cause = event.said, event.caused_by
    if event.kind == "search-settled":
        if not said.cached:
            yield from first([("lookup-finished", said.lookup, None, "")])
        yield from first([("search-admitted", said.search, None, "")])
        return
    is_again = event.kind == "stage-issued" and isinstance(cause, TimerCause | StartCause)
    if event.kind in _WITH_ANOTHER and not is_again:
        for each in reversed(together):
            if each.said.lookup == said.lookup and each.kind != "stage-issued":
                yield each.position
                return
    if isinstance(cause, EventCause):
        yield cause.position
    else:
        yield from first(_led_by(event))


def _led_by(event: CausedEvent) -> Sequence[Mark]:
    """Return what the cause of *event* points to, the exact one first."""
    lookup, work = event.said.lookup, (event.said.lookup, event.said.stage, event.said.item)
    match event.caused_by:
        case MessageCause(id=id_) if answer := _ANSWER.fullmatch(id_):
            lookup = answer["lookup"]
            asked = ("stage-issued", *answer.group("lookup", "stage", "item"))
            marks: list[Mark] = [(*asked, int(answer["attempt"])), asked]
        case TimerCause(timer="retry"):
            marks = [("attempt-failed", *work)]
        case TimerCause(timer="silence" | "mended") | StartCause():
            marks = [("stage-issued", *work)]
        case TimerCause(timer="deadline"):
            marks = []
        case _:
            return ()
    return [*marks, ("lookup-started", lookup, None, "")]


async def _related(
    log: EventLog, asked: CausedEvent, progress: Progress
) -> AsyncIterator[CausedEvent]:
    """Yield what may be linked to *asked*, in order of position."""
    if asked.said.search is not None:
        rows = await log.select(EVERYTHING, max(asked.position - 2, 0), asked.position + 1)
        theirs = [each for each in _readable(rows) if each.said.search == asked.said.search]
        if any(each.said.cached for each in theirs):  # answered from an earlier run
            for event in theirs:
                yield event
            return
    lookup, cause = _lookup_of(asked), asked.caused_by
    if lookup is None and isinstance(cause, EventCause) and cause.position > 0:
        rows = await log.select(EVERYTHING, cause.position - 1, cause.position)
        lookup = next(map(_lookup_of, _readable(rows)), None)
    if lookup is not None:
        async for event in _of_run(log, lookup, asked.position, progress):
            yield event


def _lookup_of(event: CausedEvent) -> str | None:
    """Return the run that *event* has to do with, as it says itself."""
    if isinstance(event.caused_by, MessageCause):
        return event.caused_by.id.partition("/")[0]
    return event.said.lookup


async def _of_run(
    log: EventLog, lookup: str, position: int, progress: Progress
) -> AsyncIterator[CausedEvent]:
    """Yield everything that has to do with *lookup*, from its admission on.

    At least up to *position*, and until nothing of it is open.
    """
    head = await log.head()
    rows = await log.select(Where(streams=frozenset({stream_of(lookup)})), 0, head)
    own = {e.kind: e for e in _readable(rows) if e.said.lookup == lookup}
    began, ended = own.get("lookup-started"), own.get("lookup-finished")
    after = max(began.position - _ADMISSION, 0) if began else head
    known: set[int] = set()
    waiting: set[str | None] = set()  # searches
    while after < head:
        for event in _readable(await log.select(EVERYTHING, after, after + WINDOW)):
            is_past = ended is not None and event.said.at - ended.said.at > AFTER_THE_END
            if is_past and not waiting and event.position > position:
                return
            cause = event.caused_by
            follows = isinstance(cause, EventCause) and cause.position in known
            if not follows and _lookup_of(event) != lookup:
                continue
            known.add(event.position)
            if event.kind == "search-admitted":
                waiting.add(event.said.search)
            elif event.kind == "search-settled":
                waiting.discard(event.said.search)
            yield event
        after = min(after + WINDOW, head)
        progress(after, head)


def _caused(row: SealedEvent) -> CausedEvent:
    return CausedEvent(
        position=row.position,
        stream=row.stream,
        version=row.version,
        topic=row.topic,
        said=_FIELDS.decode(row.state),
        caused_by=cause_in(row.state),
    )


def _readable(rows: Iterable[SealedEvent]) -> Iterator[CausedEvent]:
    """Yield the events in *rows* that are not damaged."""
    for row in rows:
        with suppress(*UNREADABLE):
            yield _caused(row)
