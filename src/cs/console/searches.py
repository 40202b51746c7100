"""Searches: the newest ones, one with its run, and a slider through its history."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace
from starlette.requests import Request

from cs.console.access import Session
from cs.console.views import (
    ROWS,
    Action,
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
from cs.domain.key import SearchAdmitted, SearchRepeated, SearchSettled
from cs.eventlog.categories import CATEGORIES, category_name
from cs.eventlog.port import (
    NO_STREAM,
    DamagedEvent,
    NewerEvent,
    RecordedEvent,
    SealedEvent,
    Where,
)
from cs.eventlog.streams import FoldedState
from cs.history.history import opened, pass_over
from cs.history.pages import Link, Page, Section, table
from cs.history.redacting import redact_search
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, key_of_search, search_at
from cs.history.words import OUTCOMES
from cs.projections.reading import topics_of
from cs.projections.searches import SEARCHES

#: Positions of the log that are looked through at once, from its end, and most of them for
#: one page of rows.
WINDOW, FARTHEST = 2_000, 40_000
#: Events of one stream that are read for a page: of a longer one the newest.
NEWEST = 2_000


async def newest(
    parts: Parts,
    where: Where,
    before: int | None,
    holds: Callable[[SealedEvent], bool] = lambda _: True,
    after: int = 0,
) -> tuple[Sequence[SealedEvent], int | None]:
    """Return up to `ROWS` events of *where* that *holds*, the newest first.

    They stand before the position *before*, if it is given, and after *after*.  The second is
    the position to go on before; ``None``: there are no others.
    """
    head = await parts.log.head()
    end = head if before is None else min(max(before - 1, 0), head)
    read, window, lowest = where, WINDOW, max(after, end - FARTHEST)
    if where.streams:
        last = await _last_of(parts, where)
        if last is not None and last.version <= NEWEST:
            window, lowest = max(end - after, 1), after  # all of the stream, by its name
        else:
            # By position: a long stream would be read whole for each window.
            end = end if last is None else min(end, last.position)
            lowest = max(after, end - FARTHEST)
            read = Where(where.topics, None, where.streams | (where.prefixes or frozenset()))
    found = list[SealedEvent]()
    while end > lowest and len(found) < ROWS:
        begin = max(lowest, end - window)
        stored = await parts.log.select(read, begin, end)
        found += [e for e in reversed(stored) if where.holds(e.stream, e.topic) and holds(e)]
        end = begin
    if len(found) > ROWS:
        return found[:ROWS], found[ROWS - 1].position
    return found, end + 1 if end > after else None


async def _last_of(parts: Parts, where: Where) -> FoldedState[Any] | None:
    """Return where the one stream of *where* ends; ``None``: not known, or there are more."""
    named = [*(where.streams or ()), *(where.prefixes or ())]
    if len(named) > 1 or category_name(named[0]) not in CATEGORIES:
        return None
    try:
        return await parts.streams.load(named[0])
    except (DamagedEvent, NewerEvent):
        return None  # as it is stored it can be shown


async def newest_of(parts: Parts, stream: str, most: int = NEWEST) -> Sequence[RecordedEvent]:
    """Return the newest events of *stream*, *most* of them, the newest first.

    Raises:
        LogUnavailable, DamagedEvent: The stream cannot be read.
    """
    last = (await parts.streams.load(stream)).version
    return (await parts.log.read(stream, max(last - most, NO_STREAM)))[::-1]


async def list_searches(parts: Parts, request: Request, session: Session) -> View:
    """Show the searches that were admitted last."""
    del session
    key = chosen(request, "key")
    streams = None if key is None else frozenset({f"key-{key}"})
    where = Where(topics=topics_of(SearchAdmitted), streams=streams)
    found, before = await newest(parts, where, position_of(request))
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


async def show_search(parts: Parts, request: Request, session: Session) -> View:
    """Show a search as of a position: its answer, its run, and all that lies behind it."""
    found = await _found(parts, request)
    del session
    return _view(request, redact_search(found))


async def reveal_search(
    parts: Parts, request: Request, session: Session, form: Mapping[str, str]
) -> View:
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
    of_key = await _of_long_key(parts, search, key, position)
    found = await search_at(parts.history, search, key, position, of_key)
    if found is None:
        raise not_found(f"{search} had not been made by position {at}", "choose a later one")
    return found


async def _of_long_key(
    parts: Parts, search: str, key: str, position: int
) -> Sequence[RecordedEvent] | None:
    """Return the first event of *key* and those of *search*; ``None``: it has few in all."""
    row = await parts.views.get(SEARCHES, search)
    if row is None or (await parts.streams.key(key)).version <= NEWEST:
        return None
    stream = f"key-{key}"
    last = min(row.settled_position or row.position + FARTHEST, position)
    where = Where(
        topics_of(SearchAdmitted, SearchRepeated, SearchSettled), None, frozenset({stream})
    )
    stored = await parts.log.select(where, row.position - 1, last)
    mine = await opened(parts.keys, [s for s in stored if s.stream == stream], pass_over)
    issued = await parts.log.read(stream, NO_STREAM, 1)
    return [*issued, *(each for each in mine if getattr(each.event, "search", "") == search)]


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
