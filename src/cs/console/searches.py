"""Searches: the newest ones, one with its run, and a slider through its history."""

import shlex

from msgspec.structs import replace
from starlette.requests import Request

from cs.console.access import Session
from cs.console.views import (
    Action,
    Form,
    Input,
    Parts,
    View,
    chosen,
    key_link,
    not_found,
    position_of,
    same,
    search_link,
)
from cs.domain.brand.brand import stream_of
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchAdmitted
from cs.eventlog.port import Where
from cs.history.history import opened, pass_over
from cs.history.newest import NEWEST
from cs.history.pages import Link, Page, Section, table
from cs.history.redacting import redact_search
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, key_of_search, of_long_key, search_at
from cs.history.words import OUTCOMES
from cs.projections.reading import topics_of
from cs.projections.searches import SEARCHES


async def list_searches(parts: Parts, request: Request, _: Session) -> View:
    """Show the searches that were admitted last."""
    key = chosen(request, "key")
    streams = None if key is None else frozenset({f"key-{key}"})
    where = Where(topics=topics_of(SearchAdmitted), streams=streams)
    found, before = await parts.newest(where, position_of(request))
    events = await opened(parts.keys, found, pass_over)
    rows = []
    for each in events:
        event = each.event
        assert isinstance(event, SearchAdmitted)
        row = await parts.views.get(SEARCHES, event.search)
        rows.append(
            {
                "at": event.at,
                "search": search_link(event.search),
                "brand": event.brand,
                "key": key_link(each.stream.removeprefix("key-")),
                "outcome": "running" if row is None else row.reason or row.status,
                "reused": bool(row and row.cached),
                "charged": bool(row and row.charged),
            }
        )
    about = "" if rows else "None in this part of the log. cs search BRAND makes one."
    listed = table("Searches", rows, "at search brand key outcome reused charged", about=about)
    return View(
        page=Page(title="Searches", sections=[listed]),
        command=shlex.join(["cs", "searches", "list", *(["--key", key] if key else [])]),
        filters=[Input(name="key", label="Key", value=key or "")],
        older=None if before is None else same(request, before=before),
    )


async def show_search(parts: Parts, request: Request, _: Session) -> View:
    """Show a search as of a position: its answer, its run, and all that lies behind it."""
    return _view(request, redact_search(await _found(parts, request)))


async def reveal_search(parts: Parts, request: Request, session: Session, form: Form) -> View:
    """Show it with people in clear, once the reason is stored."""
    found = await _found(parts, request)
    asked = DisclosedEvents(lookup=found.search.lookup, upto=found.position)
    await parts.operator(session).disclose(
        "console searches", form.get("why", ""), asked, upto=found.position
    )
    return _view(request, found)


async def _found(parts: Parts, request: Request) -> SearchAt:
    search = request.path_params["search"]
    key = await key_of_search(parts.history, parts.views, search)
    if key is None:
        raise not_found(
            f"there is no search {search}", "the list of searches has those there are"
        )
    at = position_of(request, "at")
    head = await parts.log.head()
    position = min(at or head, head)
    row, of_key = await parts.views.get(SEARCHES, search), None
    if row is not None and (await parts.streams.key(key)).version > NEWEST:
        of_key = await of_long_key(parts.log, parts.keys, search, row, position)
    found = await search_at(parts.history, search, key, position, of_key)
    if found is None:
        raise not_found(f"{search} had not been made by position {at}", "choose a later one")
    return found


def _view(request: Request, shown: SearchAt) -> View:
    search, run = shown.search, shown.run
    page = search_page(shown)
    ended = [run.last_position] if run is not None else []
    last = max(search.position, search.settled_position or 0, *ended)
    why = Action(
        name="Show people",
        to=f"{request.url.path}?at={shown.position}",
        asks="People are shown in clear, once. Who looked and why is stored for good.",
        role="privacy",
        inputs=[Input(name="why", label="Reason", required=True)],
    )
    key = Section(
        heading="Where it stands",
        facts=[
            ("Key", key_link(search.key)),
            ("Lookup", Link(search.lookup, f"/console/events?lookup={search.lookup}")),
            ("Brand", Link(str(page.title), f"/console/brands/{stream_of(search.lookup)}")),
            ("Outcome", OUTCOMES.get(search.outcome or "", search.outcome) or "running"),
        ],
    )
    return View(
        page=replace(page, sections=[key, *page.sections]),
        command=f"cs searches show {search.search}"
        + ("" if shown.now else f" --at {shown.position}"),
        actions=[why] if shown.is_redacted else [],
        live=search.outcome is None and shown.now,
        slider=(min(shown.position, last), search.position, last),
    )
