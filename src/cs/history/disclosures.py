"""The disclosures that may contain a person: each time people are opened, an event is stored.

The selection and position of that event are compared with every stored event that has a sealed
value of the person.  No value is opened.  The answer may name too many disclosures, never too
few: one that was interrupted counts as complete.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import ContactsErased
from cs.domain.codec import every_version, from_plain
from cs.domain.disclosure import DisclosedEvents, DisclosureMade
from cs.domain.person import PersonErased
from cs.eventlog.port import EventLog
from cs.eventlog.sealing import key_name, sealed_values
from cs.history.history import History, HistoryEvent, Progress, unseen
from cs.history.selection import BadSelection, Selection

_TYPES = tuple(
    every_version(event).removesuffix(".v")
    for event in (DisclosureMade, PersonErased, ContactsErased)
)
#: Streams that are read in one go.
_STREAMS = 500


class HeldBy(msgspec.Struct, frozen=True, kw_only=True):
    """A disclosure that may contain a person.

    Attributes:
        id: Of its stream, without the category.
        position: Of its event.
        file: Name of the file that people were written to; ``None``: they were printed.
    """

    id: str
    position: int
    at: datetime
    by: str | None
    command: str
    why: str
    file: str | None


async def disclosures_of(
    log: EventLog, people: Iterable[str], progress: Progress = unseen
) -> list[HeldBy]:
    """Return the disclosures that may contain any of *people*, ``<lookup>#p1``, oldest first.

    Disclosures after the erasure of a record do not contain it.

    Raises:
        LogUnavailable: The log cannot be read now.
        DamagedEvent, msgspec.MsgspecError: Some of it cannot be read: there is no answer.
    """
    wanted = frozenset(people)
    history = History(log)
    made: list[tuple[HistoryEvent, DisclosureMade]] = []
    erased_at: dict[str, int] = {}
    async for event in history.events(Selection(types=_TYPES), progress):
        plain = event.data()
        if event.topic.startswith(every_version(DisclosureMade)):
            disclosure = from_plain(event.topic, plain)
            assert isinstance(disclosure, DisclosureMade)
            made.append((event, disclosure))
        else:
            for name in wanted.intersection(_erased(plain)):
                # Its keys are destroyed before the first such event, and never made again.
                erased_at.setdefault(name, event.position)
    if not made or not wanted:
        return []
    theirs = await _events_of(history, wanted, progress)
    return [
        _held_by(event, disclosure)
        for event, disclosure in made
        if _may_hold(event, disclosure, theirs, erased_at)
    ]


#: An event with sealed values, without its data, and the people of these values.
_Theirs = tuple[HistoryEvent, frozenset[str]]


async def _events_of(
    history: History, people: frozenset[str], progress: Progress
) -> list[_Theirs]:
    """Return the events with sealed values of any of *people*, without their data."""
    found: list[_Theirs] = []
    streams = {stream_of(name.rpartition("#")[0]) for name in people}
    for start in range(0, len(streams), _STREAMS):
        page = tuple(sorted(streams)[start : start + _STREAMS])
        async for event in history.events(Selection(streams=page), progress):
            sealed = (v["person"] for v in sealed_values(event.data()) if v["box"])
            names = people.intersection(key_name(str(event.lookup), ref) for ref in sealed)
            if names:
                found.append((event._replace(state=b""), names))
    return found


def _may_hold(
    at: HistoryEvent,
    disclosure: DisclosureMade,
    theirs: Iterable[_Theirs],
    erased_at: Mapping[str, int],
) -> bool:
    selection = _selection(disclosure.asked)
    only = frozenset(disclosure.asked.people)
    where = selection.where()
    for event, people in theirs:
        names = people & only if only else people
        if (
            any(erased_at.get(name, at.position) >= at.position for name in names)
            and selection.after < event.position
            and _was_there(event, disclosure)
            and where.holds(event.stream, event.topic)
            and selection.holds(event.stream, event.at, event.lookup)
        ):
            return True
    return False


def _selection(asked: DisclosedEvents) -> Selection:
    try:
        return Selection.of(asked)
    except BadSelection:  # of a version that had other events: it may be any
        return Selection(after=asked.after)


def _was_there(event: HistoryEvent, disclosure: DisclosureMade) -> bool:
    asked_upto = disclosure.asked.upto
    if asked_upto is not None and event.position > asked_upto:
        return False
    if disclosure.upto is not None:
        return event.position <= disclosure.upto
    return disclosure.open_until is None or event.at <= disclosure.open_until


def _erased(plain: Mapping[str, object]) -> Iterable[str]:
    """Return the people that the event *plain* erases."""
    if "found_in" in plain:
        return msgspec.convert(plain["found_in"], list[str])
    people = msgspec.convert(plain.get("people", ()), list[str])
    return (key_name(str(plain.get("lookup")), person) for person in people)


def _held_by(event: HistoryEvent, disclosure: DisclosureMade) -> HeldBy:
    return HeldBy(
        id=event.stream.removeprefix("disclosure-"),
        position=event.position,
        at=disclosure.at,
        by=disclosure.by,
        command=disclosure.command,
        why=disclosure.why,
        file=disclosure.file,
    )
