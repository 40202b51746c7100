"""``cs searches``: what a search was answered then, and all that lies behind it."""

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import replace
from rich.text import Text

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import Chosen
from cs.cli.command import Invocation, Output, on_data
from cs.cli.moment import At, end_of
from cs.cli.output import Table, all_harmless, check_new, stop, styled, warn, write_new
from cs.cli.page_text import sections_text
from cs.cli.pseudonyms import pseudonyms, reading
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchOutcome
from cs.history.history import History
from cs.history.loading import Search, searches
from cs.history.pages import Page, page_html
from cs.history.redacting import redact_search, with_pseudonyms
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, key_of_search, search_at
from cs.projections.searches import instant

app = App(
    name="searches",
    help="What a search was answered at any time, with the evidence behind it.\n\n"
    "Works on the data folder or the databases, beside a running service or without one. "
    "Nothing is changed; --reveal stores who looked, and why.",
)

#: Searches that are listed unless more are asked for.
LAST = 50


@app.command
@on_data
async def show(
    call: Invocation,
    search: Annotated[str, Parameter(help="Id of the search, srch_...")],
    /,
    *,
    at: At = None,
    html: Annotated[
        Path | None,
        Parameter(help="Write one self-contained page of it into this file, which is new."),
    ] = None,
    reveal: Reveal = None,
) -> Output:
    """Show a search as it was answered then, and all that lies behind the answer.

    That is the run, stage by stage; everybody considered, and why they were kept or left out;
    which addresses were tried, and by which rule each was read.

    People are hidden unless --reveal says why not; the conversations with mail servers are in
    the page and in JSON. Who was erased by now is left out, also of past answers.

    Example: `cs searches show srch_yg2vnp75fv9fazbxhr4fyb0qgm --html search.html`
    """
    check_reason(reveal)
    if html is not None:
        check_new(html)
    data = await call.data()
    found = await _search_at(data, search, at)
    if reveal is not None:
        asked = DisclosedEvents(lookup=found.lookup, upto=found.position)
        await disclose(data, "searches show", reveal, asked, upto=found.position, out=html)
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
    record = all_harmless(msgspec.json.decode(shown.record))
    now = ", now" if shown.now else ""
    lead = f"as of position {shown.position}{now}"
    yield styled("[bold]{}[/]  {}  [dim]{}[/]", page.title, shown.search, lead)
    yield msgspec.json.format(msgspec.json.encode(record), indent=2).decode()
    for note in page.notes[1:]:
        yield styled("[yellow]{}[/]", note)
    yield from sections_text(page.sections[1:])


@app.command(name="list")
@on_data
async def list_searches(
    call: Invocation,
    *,
    key: Annotated[str | None, Parameter(help="Made with the API key of this id.")] = None,
    brand: Annotated[
        str | None,
        Parameter(help="For this brand, however it was asked for; with --domain, of both."),
    ] = None,
    domain: Annotated[str | None, Parameter(help="For the brand of this web domain.")] = None,
    lookup: Annotated[str | None, Parameter(help="Answered by this run.")] = None,
    outcome: Annotated[
        SearchOutcome | Literal["running"] | None, Parameter(help="That ended so, or run.")
    ] = None,
    since: Annotated[
        str | None,
        Parameter(help="Made from this time on: 2026-03-01 or 2026-03-01T12:00:00Z."),
    ] = None,
    until: Annotated[str | None, Parameter(help="Made before this time.")] = None,
    last: Annotated[
        int | None,
        Parameter(help=f"So many, the newest; 0: all. {LAST}, but with --json all."),
    ] = None,
) -> Output:
    """List searches, in the order in which they ended: their ids, and who asked for what.

    Those that run come last.

    Example: `cs searches list --brand Veltrana --since 2026-03-01`
    """
    if last is not None and last < 0:
        stop(f"--last: a number from 0, not {last}", 2)
    most = (0 if call.json else LAST) if last is None else last
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
    newest = deque[Search](maxlen=most or None)
    every = 0
    with reading("reading the log") as progress:
        async for each in searches(history, whole, progress):
            ended = each.outcome or "running"
            if period.is_between(each.asked_at) and outcome in {None, ended}:
                newest.append(each)
                every += 1
    columns = ("At", "Search", "Brand", "Key", "Ended", "Reused", "Charged")
    text: list[str | Table] = [Table(columns, [_cells(each) for each in newest], ["Brand"])]
    if every > len(newest):
        text.append(f"the newest {len(newest)} of {every}; --last 0 shows all")
    return Output(rows=[_listed(each) for each in newest], text=text)


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


def _cells(each: Search) -> tuple[str, ...]:
    row = _listed(each)
    reused = "" if each.cached is None else "yes" if each.cached else "no"
    charged = "yes" if each.charged else "no"
    said = (row[name] for name in ("search", "brand", "key", "outcome"))
    return instant(each.asked_at), *said, reused, charged
