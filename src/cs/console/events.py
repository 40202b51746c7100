"""Events: the newest of those that are meant, and one of them with its chain of causes."""

import shlex
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.addresses import chosen, event_link, position_of, stream_link
from cs.console.views import ROWS, Input, Parts, View
from cs.domain.brand.brand import stream_of
from cs.domain.codec import shapes
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.port import DamagedEvent, NewerEvent, SealedEvent
from cs.eventlog.stored_cause import cause_in
from cs.history.causes import CausedEvent, explain
from cs.history.history import UNREADABLE
from cs.history.newest import WINDOW, newest_of
from cs.history.pages import Section, facts, listed
from cs.history.selection import BadSelection, Selection
from cs.history.states import HIDDEN
from cs.history.words import cause_in_words

#: Positions from the beginning of a run in which an event's consequences are looked for.
EXPLAINED = 5_000
_FOLLOWED = (
    f"{{}} events, at most {EXPLAINED} positions from the beginning of the run; "
    f"the first {ROWS} are listed, the first that came of it at the top."
)
_FILTERS = ("type", "category", "stream", "key", "lookup")


class Head(msgspec.Struct):
    """Fields of an event as it is stored."""

    at: Any = None
    lookup: str | None = None
    search: Any = None
    brand: Any = None
    outcome: Any = None
    request: Any = None


async def list_events(parts: Parts, request: Request, _: Session) -> View:
    """Show the newest events that are meant, sealed as they are stored."""
    given = {name: chosen(request, name) for name in _FILTERS}
    selection = _selection(given)
    before = position_of(request)
    first, last = await _span(parts, selection.lookup)
    found, more = await parts.newest(
        selection.where(),
        last if before is None else before,
        holds=lambda each: _holds(selection, each),
        after=first,
    )
    rows = [
        {
            "position": event_link(each.position),
            "at": str(head_of(each).at or ""),
            "type": each.topic,
            "stream": stream_link(each.stream),
            "version": each.version,
        }
        for each in found
    ]
    about = "" if rows else "No event matches; remove a filter. "
    about += f"Looked through from position {more or 1} on."
    words = [f"--{name}={value}" for name, value in given.items() if value]
    if before is not None and 1 < before <= await parts.log.head():
        words.append(f"--upto={before - 1}")
    inputs = [
        Input(name, value=value, options=["", *CATEGORIES] if name == "category" else ())
        for name, value in given.items()
    ]
    inputs.append(Input("before", "Before position", str(before or "")))
    return View(
        title="Events",
        sections=[listed("Events", rows, about=about)],
        command=shlex.join(["cs", "events", "export", *words]),
        filters=inputs,
        older=more,
        live=before is None,
    )


async def _span(parts: Parts, lookup: str | None) -> tuple[int, int | None]:
    """Return after and before which position the events of *lookup* are, most of them.

    Of a run that began lately, and of none, the second is ``None``.
    """
    if lookup is None:
        return 0, None
    try:
        events = await newest_of(parts.log, parts.streams, stream_of(lookup))
    except (DamagedEvent, NewerEvent):
        return 0, None
    of_run = [e.position for e in events if getattr(e.event, "lookup", None) == lookup]
    return (max(of_run[-1] - WINDOW, 0), of_run[0] + WINDOW) if of_run else (0, None)


async def show_event(parts: Parts, request: Request, session: Session) -> View:
    """Show an event as it is stored, why it came about, and what followed."""
    said = request.path_params["position"]
    position = int(said) if said.isdecimal() and len(said) <= 15 else 0
    head = await parts.log.head()
    if not 0 < position <= head:
        raise HTTPException(404, f"there is no event {position}; the list has the newest")
    (event,) = await parts.log.stored(position - 1, 1)
    try:
        cause = cause_in_words(cause_in(event.state))
        found = await explain(parts.log, position, most=EXPLAINED)
    except UNREADABLE:
        cause, found = "the event is damaged: cs log verify", None
    except DamagedEvent as error:
        cause, found = f"{error}: cs log verify", None
    values = {
        "stream": stream_link(event.stream),
        "version": event.version,
        "at": str(head_of(event).at or ""),
        "caused by": cause,
        "event before": event_link(position - 1) if position > 1 else None,
        "event after": event_link(position + 1) if position < head else None,
    }
    hidden = HIDDEN if session.may("operator") else HIDDEN | {"why"}  # of disclosures
    folded = [("As it is stored, people sealed", _json(event.state, hidden))]
    sections = [Section(heading="The event", facts=facts(values), folded=folded)]
    if found is not None:
        first, after = "The first cause is at the top.", _FOLLOWED.format(len(found.after))
        sections.append(_chain("Why it came about", found.before[-ROWS:], first))
        sections.append(_chain("What followed", found.after[:ROWS], after))
    return View(
        title=f"Event {position}",
        lead=event.topic,
        sections=sections,
        command=f"cs events why {position}",
    )


def _chain(heading: str, events: Sequence[CausedEvent], about: str) -> Section:
    rows = [
        {
            "position": event_link(each.position),
            "at": each.stored.at,
            "type": each.stored.topic,
            "stage": " ".join(each.said.get(name, "") for name in ("stage", "item")).strip(),
            "stream": stream_link(each.stored.stream),
            "caused_by": cause_in_words(each.caused_by),
        }
        for each in events
    ]
    return listed(heading, rows, about=about, none="Nothing that is known.")


def _selection(given: dict[str, str | None]) -> Selection:
    try:
        selection = Selection(
            types=(given["type"],) if given["type"] else (),
            categories=(given["category"],) if given["category"] in CATEGORIES else (),
            streams=(given["stream"],) if given["stream"] else (),
            keys=(given["key"],) if given["key"] else (),
            lookup=given["lookup"],
        )
        selection.topics()
    except BadSelection as error:
        known = ", ".join(sorted({topic.rpartition(".")[0] for topic in shapes()}))
        raise HTTPException(400, f"{error}; types are {known}") from error
    return selection


def _holds(selection: Selection, event: SealedEvent) -> bool:
    lookup = selection.lookup
    return lookup is None or (
        lookup.encode() in event.state and head_of(event).lookup == lookup
    )


def head_of(event: SealedEvent) -> Head:
    try:
        return msgspec.json.decode(event.state, type=Head)
    except UNREADABLE:
        return Head()


def _json(state: bytes, hidden: frozenset[str]) -> str:
    """Return *state* for people, without the fields *hidden*."""
    try:
        plain = msgspec.json.decode(state, type=dict[str, Any])
    except UNREADABLE:
        return "it is damaged: cs log verify"
    shown = {name: value for name, value in plain.items() if name not in hidden}
    return msgspec.json.format(msgspec.json.encode(shown)).decode()
