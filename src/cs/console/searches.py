"""Searches: the newest ones, one with its run, and a slider through its history."""

import shlex

from msgspec.structs import asdict, replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.addresses import (
    brand_link,
    chosen,
    key_link,
    lookup_link,
    position_of,
    search_link,
)
from cs.console.events import head_of
from cs.console.keys import keys_meant
from cs.console.views import REASON, Action, Form, Input, Parts, View
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.port import SealedEvent, Where
from cs.history.newest import NEWEST
from cs.history.pages import Section, listed
from cs.history.redacting import redact_search
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, key_of_search, of_long_key, search_at
from cs.history.words import OUTCOMES
from cs.projections.reading import topics_of
from cs.projections.searches import SEARCHES


async def search_of_call(parts: Parts, request_id: str) -> str:
    """Return the search that the call *request_id* asked for.

    Raises:
        HTTPException: 404: none of the newest did.
    """
    where = Where(topics=topics_of(SearchAdmitted, SearchRepeated))
    found, _ = await parts.newest(where, None, holds=lambda e: head_of(e).request == request_id)
    if not found:
        raise HTTPException(
            404, f"no new search was asked for by {request_id}; its key lists more"
        )
    return str(head_of(found[0]).search)


async def list_searches(parts: Parts, request: Request, _: Session) -> View:
    """Show the searches that were admitted last; of one outcome those that ended last."""
    given = {name: chosen(request, name) for name in ("key", "brand", "outcome")}
    key, brand, outcome = given.values()
    of_key = [] if key is None else [each for each, _ in await keys_meant(parts, key)] or [key]
    where = Where(
        topics=topics_of(SearchSettled if outcome else SearchAdmitted),
        streams=frozenset(f"key-{each}" for each in of_key) or None,
    )
    part = (brand or "").lower()

    def holds(stored: SealedEvent) -> bool:
        said = head_of(stored)
        return said.outcome == outcome if outcome else part in str(said.brand).lower()

    found, older = await parts.newest(where, position_of(request), holds=holds)
    rows = []
    for each in await parts.opened(found):
        event = each.event
        assert isinstance(event, SearchAdmitted | SearchSettled)
        row = await parts.views.get(SEARCHES, event.search)
        name = event.brand if isinstance(event, SearchAdmitted) else row.brand if row else ""
        if part not in name.lower():
            continue
        rows.append(
            {
                "at": event.at,
                "search": search_link(event.search),
                "brand": name,
                "key": key_link(each.stream.removeprefix("key-")),
                "outcome": "running" if row is None else row.reason or row.status,
                "reused": bool(row and row.cached),
                "charged": bool(row and row.charged),
            }
        )
    none = "None in this part of the log. cs search BRAND makes one."
    words = [f"--key={of_key[0]}"] if len(of_key) == 1 else []
    words += [f"--{n}={value}" for n, value in given.items() if value and n != "key"]
    return View(
        title="Searches",
        sections=[listed("Searches", rows, none=none)],
        command=shlex.join(["cs", "searches", "list", *words]),
        filters=[
            Input("key", "Key: id, label or last four", key),
            Input("brand", "Part of the brand", brand),
            Input("outcome", value=outcome, options=["", *OUTCOMES]),
        ],
        older=older,
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
        raise HTTPException(404, f"there is no search {search}; the list has those there are")
    at = position_of(request, "at")
    head = await parts.log.head()
    position = min(at or head, head)
    row, of_key = await parts.views.get(SEARCHES, search), None
    if row is not None and (await parts.streams.key(key)).version > NEWEST:
        of_key = await of_long_key(parts.log, parts.keys, search, row, position)
    found = await search_at(parts.history, search, key, position, of_key)
    if found is None:
        raise HTTPException(404, f"{search} had not been made by position {at}; take a later")
    return found


def _view(request: Request, shown: SearchAt) -> View:
    search, run = shown.search, shown.run
    page = search_page(shown)
    ended = [run.last_position] if run is not None else []
    last = max(search.position, search.settled_position or 0, *ended)
    to = f"{request.url.path}?at={shown.position}"
    why = Action("Show people", to, role="privacy", inputs=[REASON])
    key = Section(
        heading="Where it stands",
        facts=[
            ("Key", key_link(search.key)),
            ("Lookup", lookup_link(search.lookup)),
            ("Brand", brand_link(str(page.title), search.lookup)),
        ],
    )
    return View(
        **asdict(replace(page, sections=[key, *page.sections])),
        command=f"cs searches show {search.search}"
        + ("" if shown.now else f" --at {shown.position}"),
        actions=[why] if shown.is_redacted else [],
        live=search.outcome is None and shown.now and shown.is_redacted,
        slider=(min(shown.position, last), search.position, last),
    )
