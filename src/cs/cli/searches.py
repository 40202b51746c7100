"""``cs searches``: what a search was answered then, and all that lies behind it."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import App, Parameter

from cs.assembly.operator_command import CommandContext, open_command_context
from cs.cli.choosing import Chosen
from cs.cli.moment import At, end_of
from cs.cli.new_file import check_new, write_new
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop, warn
from cs.cli.prices import Prices, prices_by_name
from cs.cli.progress import Progress
from cs.cli.revealing import Reveal, check_reason, disclose
from cs.cli.search_view import print_search
from cs.cli.settings_in_force import settings
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchOutcome
from cs.history.history import History
from cs.history.identities import identities
from cs.history.search_list import ListedSearch, listed_searches
from cs.history.searches import SearchAt, key_of_search, search_at
from cs.history.shown.page import search_page
from cs.history.shown.search import ShownSearch, people_of, shown_search
from cs.projections.searches import instant
from cs.settings import Settings

app = App(
    name="searches",
    help="What a search was answered at any time, with the evidence behind it.\n\n"
    "Works on the data folder or the databases, beside a running service or without one. "
    "Nothing is changed; --reveal stores who looked, and why.",
)

#: Searches that are listed unless more are asked for.
LAST = 50


@app.command
def show(
    search: Annotated[str, Parameter(help="Id of the search, srch_...")],
    /,
    *,
    at: At = None,
    html: Annotated[
        Path | None,
        Parameter(help="Write one self-contained page of it into this file, which is new."),
    ] = None,
    reveal: Reveal = None,
    price: Prices = (),
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Show a search as it was answered then, and all that lies behind the answer.

    That is the run, stage by stage; everybody considered, and why they were kept or left out;
    which addresses were tried, and by which rule each was read.

    People are sealed unless --reveal says why not; the conversations with mail servers are in
    the page and in JSON then. Who was erased by now is left out, also of answers of before.

    Example: `cs searches show srch_yg2vnp75fv9fazbxhr4fyb0qgm --html search.html`
    """
    check_reason(reveal)
    if html is not None:
        check_new(html)
    request = ShowRequest(search, at, reveal, html, prices_by_name(price))
    shown = asyncio.run(_shown(settings(config, data_dir=data_dir), request))
    if html is not None:
        write_new(html, search_page(shown))
    if json:
        print_json(shown)
    elif html is not None:
        console.print(f"written to {html}")
    else:
        print_search(shown)


@app.command(name="list")
def list_searches(
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
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """List searches, in the order in which they ended: their ids, and who asked for what.

    Those that run come last.

    Example: `cs searches list --brand Veltrana --since 2026-03-01`
    """
    if last is not None and last < 0:
        stop(f"--last: a number from 0, not {last}", 2)
    last = (0 if json else LAST) if last is None else last
    which = Chosen(
        keys=() if key is None else (key,),
        brand=brand,
        domain=domain,
        lookup=lookup,
        since=since,
        until=until,
    )
    period = which.checked()
    chosen = settings(config, data_dir=data_dir)
    every = 0

    async def run() -> Sequence[ListedSearch]:
        nonlocal every
        newest = deque[ListedSearch](maxlen=last or None)
        async with open_command_context(chosen) as data:
            history = History(data.log)
            selection = await which.selection(history)
            # A search of the period may have ended after it.
            whole = msgspec.structs.replace(selection, until=None)
            with Progress() as progress:
                told = _telling(progress, "reading the log")
                async for each in listed_searches(history, whole, told):
                    between = each.is_between(period.since, period.until)
                    if between and outcome in {None, each.outcome}:
                        newest.append(each)
                        every += 1
        return newest

    found = asyncio.run(run())
    if json:
        for each in found:
            print_json(each)
        return
    columns = ("At", "Search", "Brand", "Key", "Ended", "Reused", "Charged")
    print_table(columns, [_cells(each) for each in found], folds=["Brand"])
    if every > len(found):
        console.print(f"the newest {len(found)} of {every}; --last 0 shows all")


def _cells(each: ListedSearch) -> tuple[str, ...]:
    reused = "" if each.reused is None else "yes" if each.reused else "no"
    charged = "yes" if each.charged else "no"
    return (
        instant(each.at),
        each.search,
        each.brand,
        each.key,
        each.outcome,
        reused,
        charged,
    )


@dataclass(frozen=True)
class ShowRequest:
    """What `show` is to show.

    Attributes:
        at: As of then; ``None``: now.
        reveal: Why people are opened; ``None``: they are not.
        html: The file that they go to, if one is written.
        prices: Of one question to a source or verifier, by name.
    """

    search: str
    at: str | None
    reveal: str | None
    html: Path | None
    prices: Mapping[str, Decimal]


async def _shown(chosen: Settings, request: ShowRequest) -> ShownSearch:
    async with open_command_context(chosen) as data:
        with Progress() as progress:
            then, head = await _then(data, request, progress)
            if request.reveal is not None:
                await _disclose(data, request.reveal, then, request.html)
            told = _telling(progress, "telling people apart")
            async with identities(data.log, data.keys, told) as known:
                pseudonyms = await known.of(people_of(then))
        if data.keys.lost.keys:
            warn(
                f"{data.keys.lost.keys} data keys are lost: who is behind them reads as erased"
            )
        return shown_search(
            then,
            head=head,
            pseudonyms=pseudonyms,
            reveal=request.reveal is not None,
            prices=request.prices,
        )


async def _then(
    data: CommandContext, request: ShowRequest, progress: Progress
) -> tuple[SearchAt, int]:
    """Return the search as of then, and the log's last position."""
    history, search = History(data.log), request.search
    told = _telling(progress, "looking for the search")
    key = await key_of_search(history, data.views, search, told)
    if key is None:
        stop(f"there is no search {search}; `cs searches list` shows those there are")
    head = await history.head()
    then = await search_at(history, search, key, await end_of(history, request.at))
    if then is None:
        stop(f"{search} had not been made by then")
    return then, head


async def _disclose(data: CommandContext, why: str, then: SearchAt, html: Path | None) -> None:
    asked = DisclosedEvents(lookup=then.found.row.lookup, upto=then.position)
    await disclose(data, "searches show", why, asked, upto=then.position, out=html)


def _telling(progress: Progress, what: str) -> Callable[[int, int], None]:
    def tell(position: int, upto: int) -> None:
        progress.show(f"{what}: {position} of {upto} positions read")

    return tell
