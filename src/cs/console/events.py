"""Events: the newest of those that are meant, and one of them with its cause."""

import shlex
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.searches import newest
from cs.console.views import (
    Input,
    Parts,
    View,
    chosen,
    event_link,
    not_found,
    position_of,
    same,
)
from cs.domain.codec import shapes
from cs.eventlog.categories import CATEGORIES
from cs.eventlog.port import SealedEvent
from cs.eventlog.stored_cause import cause_in
from cs.history.history import UNREADABLE
from cs.history.pages import Link, Page, Section, facts, table
from cs.history.selection import BadSelection, Selection
from cs.history.states import HIDDEN
from cs.history.words import cause_in_words


class _Head(msgspec.Struct):
    at: Any = None
    lookup: str | None = None


_FILTERS = ("type", "category", "stream", "key", "lookup")


async def list_events(parts: Parts, request: Request, session: Session) -> View:
    """Show the newest events that are meant, sealed as they are stored."""
    del session
    given = {name: chosen(request, name) for name in _FILTERS}
    selection = _selection(given)
    before = position_of(request)
    found, more = await newest(
        parts, selection.where(), before, lambda each: _holds(selection, each)
    )
    rows = [
        {
            "position": event_link(each.position),
            "at": str(_head(each).at or ""),
            "type": each.topic,
            "stream": _stream_link(each.stream),
            "version": each.version,
        }
        for each in found
    ]
    about = f"Looked through from position {more or 1} on."
    words = [f"--{name}={value}" for name, value in given.items() if value]
    return View(
        page=Page(
            title="Events",
            sections=[table("Events", rows, "position at type stream version", about=about)],
        ),
        command=shlex.join(["cs", "events", "export", *words]),
        filters=[
            Input(name="type", label="Type", value=given["type"] or ""),
            Input(
                name="category",
                label="Category",
                value=given["category"] or "",
                options=["", *CATEGORIES],
            ),
            *(
                Input(name=name, label=name.capitalize(), value=given[name] or "")
                for name in _FILTERS[2:]
            ),
        ],
        older=None if more is None else same(request, before=more),
        live=before is None,
    )


async def show_event(parts: Parts, request: Request, session: Session) -> View:
    """Show an event as it is stored, and its cause."""
    del session
    said = request.path_params["position"]
    position = int(said) if said.isdecimal() and len(said) <= 15 else 0
    if not 0 < position <= await parts.log.head():
        raise not_found(f"there is no event {position}", "the list of events has the newest")
    stored = await parts.log.stored(position - 1, 1)
    event = stored[0]
    before = None if position == 1 else event_link(position - 1)
    try:
        cause = cause_in_words(cause_in(event.state))
    except UNREADABLE:
        cause = "the event is damaged: cs log verify"
    return View(
        page=Page(
            title=f"Event {position}",
            lead=event.topic,
            sections=[
                Section(
                    heading="The event",
                    facts=facts(
                        {
                            "stream": _stream_link(event.stream),
                            "version": event.version,
                            "at": str(_head(event).at or ""),
                            "caused by": cause,
                            "event before": before,
                        }
                    ),
                    folded=[("As it is stored, people sealed", _json(event.state))],
                ),
            ],
        ),
        command=f"cs events why {position}",
    )


def _stream_link(stream: str) -> Link:
    return Link(stream, f"/console/events?stream={quote(stream)}")


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
    return selection.lookup is None or _head(event).lookup == selection.lookup


def _head(event: SealedEvent) -> _Head:
    try:
        return msgspec.json.decode(event.state, type=_Head)
    except UNREADABLE:
        return _Head()


def _json(state: bytes) -> str:
    """Return *state* for people, without hashes of secrets."""
    try:
        plain = msgspec.json.decode(state, type=dict[str, Any])
    except UNREADABLE:
        return "it is damaged: cs log verify"
    shown = {name: value for name, value in plain.items() if name not in HIDDEN}
    return msgspec.json.format(msgspec.json.encode(shown)).decode()
