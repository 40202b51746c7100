"""``cs searches``: what a search was answered then, and all that lies behind it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace
from rich.text import Text

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import (
    At,
    Brand,
    Chosen,
    Domain,
    Last,
    Lookup,
    Since,
    Until,
    end_of,
    newest,
)
from cs.cli.command import Invocation, NewFile, Output, on_data
from cs.cli.output import (
    Table,
    json_text,
    sections_text,
    stop,
    styled,
    warn,
    write_new,
)
from cs.cli.progress import reading
from cs.cli.revealing import Reveal, pseudonyms
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchOutcome
from cs.history.history import History
from cs.history.loading import Search, searches
from cs.history.pages import Page, page_html
from cs.history.redacting import redact_search, with_pseudonyms
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, key_of_search, search_at

app = App(
    name="searches",
    help="What a search was answered at any time, with the evidence behind it.\n\n"
    "Works on the data folder or the databases, next to a running service or without one. "
    "Nothing is changed; --reveal stores who looked, and why.",
)


@app.command
@on_data
async def show(
    call: Invocation,
    search: Annotated[str, Parameter(help="Id of the search, srch_...")],
    /,
    *,
    at: At = None,
    html: Annotated[
        NewFile,
        Parameter(help="Write one self-contained page of it into this file, which is new."),
    ] = None,
    reveal: Reveal = None,
) -> Output:
    """Show a search as it was answered then, and all that lies behind the answer.

    That is the run, stage by stage; all people considered, and why they were kept or left out;
    which addresses were tried, and by which rule each was read.

    People are hidden unless --reveal says why not; the conversations with mail servers are in
    the page and in JSON. Who was erased by now is left out, also of past answers.

    Example: `cs searches show srch_yg2vnp75fv9fazbxhr4fyb0qgm --html search.html`
    """
    data = await call.data()
    found = await _search_at(data, search, at)
    if reveal is not None:
        asked = DisclosedEvents(lookup=found.search.lookup, upto=found.position)
        file = html.name if html else None
        await data.operator.disclose(
            "searches show", reveal, asked, upto=found.position, file=file
        )
    if found.run is not None:
        named = with_pseudonyms(found.run, await pseudonyms(data, found.run.names()))
        found = replace(found, run=named)
    if lost := data.keys.lost.keys:
        warn(f"{lost} data keys are lost: who is behind them reads as erased")
    shown = found if reveal is not None else redact_search(found)
    page = search_page(shown)
    if html is None:
        return Output(rows=[shown], text=_text(shown, page))
    write_new(html, page_html(page))
    return Output(rows=[shown], text=[f"written to {html}"])


async def _search_at(data: CommandContext, search: str, at: str | None) -> SearchAt:
    """Return the search as of then; end the command if there is none."""
    history = History(data.log)
    with reading("looking for the search") as progress:
        key = await key_of_search(history, data.views, search, progress)
    if key is None:
        stop(f"there is no search {search}; `cs searches list` shows those there are")
    found = await search_at(history, search, key, await end_of(history, at))
    if found is None:
        stop(f"{search} had not been made by then")
    return found


def _text(shown: SearchAt, page: Page) -> Iterator[str | Text | Table]:
    """Yield the record, then the sections of *page* behind it."""
    record = msgspec.json.decode(shown.record)
    now = ", now" if shown.now else ""
    lead = f"as of position {shown.position}{now}"
    yield styled("[bold]{}[/]  {}  [dim]{}[/]", page.title, shown.search.search, lead)
    yield json_text(record)
    for note in page.notes[1:]:
        yield styled("[yellow]{}[/]", note)
    yield from sections_text(page.sections[1:])


@app.command(name="list")
@on_data
async def list_searches(
    call: Invocation,
    *,
    key: Annotated[str | None, Parameter(help="Of the API key of this id.")] = None,
    brand: Brand = None,
    domain: Domain = None,
    lookup: Lookup = None,
    outcome: Annotated[
        SearchOutcome | Literal["running"] | None, Parameter(help="That ended so, or run.")
    ] = None,
    since: Since = None,
    until: Until = None,
    last: Last = None,
) -> Output:
    """List searches, in the order in which they ended: their ids, and who asked for what.

    Those that run come last. A period is the one in which searches were made.

    Example: `cs searches list --brand Veltrana --since 2026-03-01`
    """
    which = Chosen(
        keys=() if key is None else (key,),
        brand=brand,
        domain=domain,
        lookup=lookup,
        since=since,
        until=until,
    )
    period = which.checked()
    history = History((await call.data()).log)
    # A search of the period may have ended after it.
    whole = replace(await which.selection(history), until=None)
    with reading("reading the log") as progress:
        listed = [
            _listed(each)
            async for each in searches(history, whole, progress)
            if period.is_between(each.asked_at)
        ]
    found = [each for each in listed if outcome in {None, each["outcome"]}]
    return newest(call, found, last, _table)


def _table(found: Sequence[Mapping[str, Any]]) -> Table:
    return Table.of(found, "at search brand key outcome reused charged", "brand")


def _listed(each: Search) -> dict[str, Any]:
    return {
        "position": each.position,
        "at": each.asked_at,
        "search": each.search,
        "key": each.key,
        "brand": each.brand,
        "lookup": each.lookup,
        "outcome": each.outcome or "running",
        "reused": each.cached,
        "charged": bool(each.charged),
    }
