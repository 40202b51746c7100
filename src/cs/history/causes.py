"""The chain of causes of an event, and of its consequences: ``cs events why``.

A stored cause (`cs.domain.causation`) leads to an earlier event: an answer to the *stage
issued* event of its work, a retry to the attempt that failed, a start of a run to the search
that was admitted.  So every chain ends, at a call, a command or the ageing of people.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import stream_of
from cs.domain.causation import (
    AnyCause,
    EventCause,
    MessageCause,
    RequestCause,
    StartCause,
    TimerCause,
)
from cs.eventlog.port import EventLog
from cs.eventlog.stored_cause import cause_in
from cs.history.history import History, HistoryEvent, Progress, pass_over, unseen
from cs.history.selection import Selection

#: Events of one admission: a search, its run, and the first work.
_ADMISSION = 3
#: Consequences of a run are looked for until so long after its end: searches that joined it
#: late are settled later, and facts about mail domains are stored by another process.
AFTER_THE_END = timedelta(days=1)
#: Ids of answers (docs/topics.md): an item is a mail domain, or nothing.
_ANSWER = re.compile(r"(?P<lookup>[^/]+)/(?P<stage>[^/]+)/(?P<item>.*)/(?P<attempt>\d+)/[^/]+")
#: Events that follow the one that the same call or message led to before them.
_STORED_WITH_ANOTHER = {"lookup-started", "lookup-finished", "stage-issued"}
#: In what is stored of an event whose cause is another event.
_BY_AN_EVENT = b'"kind":"event"'
#: Fields of events that link them, or describe their result.
_FIELDS = (
    *("at", "lookup", "search", "stage", "item", "attempt", "mail_domain", "checked"),
    *("outcome", "verified", "charged", "cached", "why"),
)
#: Fields that, with its kind, describe an event to those that it led to.
_LINKS = (
    *((), ("lookup",), ("search",)),
    *(("lookup", "stage", "item"), ("lookup", "stage", "item", "attempt")),
)
_Link = tuple[Any, ...]


class CausedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event in a chain of causes.

    Attributes:
        run: The run that it has to do with, by its cause or as it says itself.
        said: Its fields in `_FIELDS`.
        caused_by: Its cause; ``None``: not recorded.
        follows: The positions of the events that it comes of, first the one that led to it.
    """

    stored: HistoryEvent
    run: str | None
    said: Mapping[str, Any]
    caused_by: AnyCause | None
    follows: tuple[int, ...] = ()

    @property
    def position(self) -> int:
        return self.stored.position

    @property
    def kind(self) -> str:
        """Return its type without category and version."""
        return self.stored.topic.split(".")[1]

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values, without fields that it does not have."""
        return {
            "position": self.position,
            "stream": self.stored.stream,
            "version": self.stored.version,
            "type": self.stored.topic,
            "caused_by": msgspec.to_builtins(self.caused_by),
            "follows": self.follows,
            **{name: value for name, value in self.said.items() if value not in (None, "")},
        }


class Explanation(msgspec.Struct, frozen=True):
    """One event, its causes and its consequences, each in order of position."""

    event: CausedEvent
    before: Sequence[CausedEvent]
    after: Sequence[CausedEvent]


async def explain(
    log: EventLog, position: int, progress: Progress = unseen, most: int | None = None
) -> Explanation | None:
    """Return why the event at *position* of *log* came about; ``None``: there is none.

    The events of one run and its searches are held in memory.  What is no event of the run is
    looked for in the *most* positions from its beginning on; ``None``: without such a limit.

    Raises:
        LogUnavailable: The log cannot be read now.
        DamagedEvent: The event there cannot be read.
    """
    history, only = History(log), Selection(after=position - 1, upto=position)
    asked = [_caused(each) async for each in history.events(only)] if position > 0 else []
    if not asked:
        return None
    events: dict[int, CausedEvent] = {}
    last: dict[_Link, int] = {}
    related = await _related(history, asked[0], progress, most)
    for event in sorted(related, key=lambda e: e.position):
        follows = _follows(event, last)
        known = tuple(dict.fromkeys(each for each in follows if each in events))
        events[event.position] = replace(event, follows=known)
        last.update(dict.fromkeys(_links(event), event.position))
    before, after = {position}, {position}
    for event in reversed(events.values()):
        before.update(event.follows if event.position in before else ())
    for event in events.values():
        after.update({event.position} if after.intersection(event.follows) else ())
    return Explanation(
        events[position],
        [events[each] for each in sorted(before - {position})],
        [events[each] for each in sorted(after - {position})],
    )


async def _related(
    history: History, asked: CausedEvent, progress: Progress, most: int | None
) -> Sequence[CausedEvent]:
    """Return *asked* and the events that may be linked to it."""

    async def read(
        selection: Selection, progress: Progress = unseen, marks: Sequence[bytes] = (b"",)
    ) -> list[CausedEvent]:
        """Return the selected events that have one of *marks* in what is stored of them."""
        pages = history.pages(selection, progress, pass_over)
        return [
            _caused(each)
            async for page in pages
            for each in page
            if any(mark in each.state for mark in marks)
        ]

    position, run = asked.position, asked.run
    if "search" in asked.said:
        near = await read(Selection(after=position - 2, upto=position + 1))
        own = [each for each in near if each.said.get("search") == asked.said["search"]]
        if any(each.said.get("cached") for each in own):  # answered from an earlier run
            return own
    if run is None and isinstance(asked.caused_by, EventCause):
        led_by = asked.caused_by.position
        run = next((e.run for e in await read(Selection(after=led_by - 1, upto=led_by))), None)
    of_run = [] if run is None else await read(Selection(streams=(stream_of(run),)))
    own = [each for each in of_run if each.stored.lookup == run]
    begun = next((each.position for each in own if each.kind == "lookup-started"), None)
    if run is None or begun is None:
        return [asked]
    ends = [each.stored.at for each in own if each.kind == "lookup-finished"]
    until = max(ends[0], asked.stored.at) + AFTER_THE_END if ends else None
    found = {position: asked}
    if most is not None:
        found |= {each.position: each for each in own}
    upto = None if most is None else begun + most
    linked = Selection(after=begun - _ADMISSION, until=until, upto=upto)
    for each in await read(linked, progress, (run.encode(), _BY_AN_EVENT)):
        cause = each.caused_by
        if each.run == run or (isinstance(cause, EventCause) and cause.position in found):
            found[each.position] = each
    return [*found.values()]


def _links(event: CausedEvent) -> Iterator[_Link]:
    """Yield each description by which a later event may name *event* as its cause."""
    said, kind = event.said, event.kind
    for names in _LINKS:
        if all(name in said for name in names):
            yield kind, *((name, str(said[name])) for name in names)
    if kind != "stage-issued":
        yield event.stored.lookup, event.caused_by


def _follows(event: CausedEvent, last: Mapping[_Link, int]) -> Sequence[int]:
    """Return the causes of *event*; *last* has the last position of each of `_links` before."""
    said, cause, lookup = event.said, event.caused_by, event.stored.lookup

    def find(*link: Any) -> list[int]:
        return [last[link]] if link in last else []

    if event.kind == "search-settled":
        ended = [] if said["cached"] else find("lookup-finished", ("lookup", str(lookup)))
        return ended + find("search-admitted", ("search", str(said["search"])))
    with_another = event.kind in _STORED_WITH_ANOTHER
    if (
        with_another
        and isinstance(cause, MessageCause | RequestCause)
        and (lookup, cause) in last
    ):
        return [last[lookup, cause]]
    work = [(name, str(said[name])) for name in ("lookup", "stage", "item") if name in said]
    found: list[int] = []
    match cause:
        case EventCause(position=position):
            return [position]
        case MessageCause(id=id_) if answer := _ANSWER.fullmatch(id_):
            lookup = answer["lookup"]
            asked = [(name, answer[name]) for name in ("lookup", "stage", "item")]
            found = find("stage-issued", *asked, ("attempt", answer["attempt"]))
            found = found or find("stage-issued", *asked)
        case TimerCause(timer="retry"):
            found = find("attempt-failed", *work)
        case TimerCause(timer="silence" | "mended") | StartCause():
            found = find("stage-issued", *work)
        case TimerCause(timer="deadline"):
            pass
        case _:
            return ()
    return found or find("lookup-started", ("lookup", str(lookup)))


def _caused(event: HistoryEvent) -> CausedEvent:
    data, cause = event.data(), cause_in(event.state)
    if "stage" in data:
        data.setdefault("item", "")
    if "checked" in data:
        data["checked"] = {"person": data["checked"]["person"]}
    return CausedEvent(
        stored=event,
        run=cause.id.partition("/")[0] if isinstance(cause, MessageCause) else event.lookup,
        said={name: data[name] for name in _FIELDS if name in data},
        caused_by=cause,
    )
