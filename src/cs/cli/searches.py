"""``cs searches``: what a search was answered then, and all that lies behind it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

import msgspec
from cyclopts import App, Parameter
from msgspec.structs import asdict, replace
from rich.text import Text

from cs.assembly.operator_command import CommandContext
from cs.cli.choosing import (
    At,
    Chosen,
    ChosenSearches,
    Last,
    Reveal,
    Since,
    Until,
    check_period,
    end_of,
    newest,
    position_of,
    pseudonyms,
)
from cs.cli.command import Invocation, NewFile, Output, command, on_data
from cs.cli.output import (
    Table,
    csv_cell,
    json_text,
    reading,
    sections_text,
    stop,
    styled,
    warn,
    write_new,
)
from cs.domain.brand.brand import stream_of
from cs.domain.codec import topic_of
from cs.domain.disclosure import DisclosedEvents
from cs.domain.key import SearchOutcome
from cs.eventlog.categories import CATEGORIES, category_name, category_of
from cs.eventlog.port import NO_STREAM
from cs.history.history import History
from cs.history.ledger import LedgerEntry, ledger, with_earners
from cs.history.loading import Search, searches
from cs.history.pages import Page, page_html
from cs.history.redacting import redact_search, with_pseudonyms
from cs.history.search_page import search_page
from cs.history.searches import SearchAt, key_of_search, search_at
from cs.history.selection import Selection
from cs.history.states import changes, plain_state

EVERY = ChosenSearches()

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
        warn(f"{sum(lost.values())} data keys are lost: who is behind them reads as erased")
    shown = found if reveal is not None else redact_search(found)
    page = search_page(shown)
    if html is None:
        return Output(rows=[shown], text=_text(shown, page))
    write_new(html, page_html(page))
    return Output(rows=[shown], text=[f"written to {html}"])


async def _search_at(data: CommandContext, search: str, at: str | None) -> SearchAt:
    history = data.history
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
    chosen: ChosenSearches = EVERY,
    *,
    key: Annotated[str | None, Parameter(help="Of the API key of this id.")] = None,
    outcome: Annotated[
        SearchOutcome | Literal["running"] | None, Parameter(help="That ended so, or run.")
    ] = None,
    last: Last = None,
) -> Output:
    """List searches, in the order in which they ended: their ids, and who asked for what.

    Those that run come last. A period is the one in which searches were made.

    Example: `cs searches list --brand Veltrana --since 2026-03-01`
    """
    which = Chosen(keys=() if key is None else (key,), **vars(chosen))
    period = which.checked()
    history = (await call.data()).history
    # A search of the period may have ended after it.
    whole = replace(await which.selection(history), until=None)
    with reading("reading the log") as progress:
        listed = [
            _listed(each)
            async for each in searches(history, whole, progress)
            if period.is_between(each.asked_at)
        ]
    found = [each for each in listed if outcome in {None, each["outcome"]}]
    fields = "at search brand key outcome reused charged"
    return newest(call, found, last, lambda shown: Table.of(shown, fields, "brand"))


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


_FIELDS = LedgerEntry.__struct_fields__


@command("csv", "json", "data_dir", "config")
async def show_ledger(
    call: Invocation,
    key: Annotated[str, Parameter(help="The key's id, as `cs keys list` shows it.")],
    /,
    *,
    since: Since = None,
    until: Until = None,
    at: At = None,
) -> Output:
    """Show each reservation, charge and release of a key, with the balance after it.

    Every charge names its search, and the people whose verified e-mails earned it as
    `<lookup>#p1`. Bounced are those of them from whose mailboxes mail came back within 30 days
    (`cs mailboxes bounced`): the charge stands. The last balance is that of `GET /usage`, now
    or as of --at.

    Example: `cs ledger key_1a2s --since 2026-03-01 --until 2026-04-01 --csv > march.csv`
    """
    check_period(since, until)
    period = Selection(since=since, until=until)
    data = await call.data()
    entries = await _entries(data, key, at)
    shown = [each for each in entries if period.is_between(each.at)]
    cells = [[csv_cell(getattr(entry, name)) for name in _FIELDS] for entry in shown]
    rows = [
        {**asdict(e), "earned_by": _short(e.earned_by), "bounced": _short(e.bounced)}
        for e in shown
    ]
    fields = "at what units brand search earned_by bounced reserved remaining"
    last = entries[-1]
    balance = f"quota {last.quota}, used {last.used}, remaining {last.remaining}"
    table = Table.of(rows, fields, "brand search earned_by")
    return Output(shown, [table, balance], csv=[_FIELDS, *cells])


async def _entries(data: CommandContext, key: str, at: str | None) -> Sequence[LedgerEntry]:
    history = data.history
    stream = f"key-{key.removeprefix('key-')}"
    upto = await end_of(history, at)
    events = [recorded async for recorded in history.stream(stream, upto)]
    if not events and await history.is_there(stream):
        stop(f"{key} had not been issued by then")
    if not events:
        stop(f"there is no key {key}; `cs keys list` shows those there are")
    return [entry async for entry in with_earners(history, ledger(events))]


def _short(people: Sequence[str]) -> str:
    """Return *people*, ``<lookup>#p1``, without their lookup: it is that of the search."""
    return " ".join(person.rpartition("#")[2] for person in people)


#: Characters of a changed value that are shown in the table.
_SHOWN = 60


@on_data
async def state(
    call: Invocation,
    stream: Annotated[
        str,
        Parameter(
            help="A stream's name, an API key's id, a lookup's id, a mail domain with "
            "mail-domain- before it, or service."
        ),
    ],
    /,
    *,
    at: At = None,
    diff: Annotated[
        tuple[str, str] | None,
        Parameter(
            help="Show what each event changed after the one position or time, up to the other."
        ),
    ] = None,
) -> Output:
    """Show how a key, a brand, a mail domain or the service was at any time.

    The state is folded from the events up to then, as the service itself does it. People and
    hashes of secrets are hidden.

    Example: `cs state key_1a2s --at 2026-03-01`, and `cs state key_1a2s --diff 0 900`
    """
    if at is not None and diff is not None:
        stop("--at and --diff: one of them", 2)
    name = _stream(stream)
    data = await call.data()
    if diff is not None:
        found = await _changes(data, name, *diff)
        rows = [
            {
                "position": each["position"],
                "event": each["type"],
                "field": change.field,
                "before": _value(change.before),
                "after": _value(change.after),
            }
            for each in found
            for change in each["changes"]
        ]
        fields = "position event field before after"
        return Output(found, [Table.of(rows, fields, "before after")])
    history = data.history
    then = await history.state_at(name, await end_of(history, at))
    if then.version == NO_STREAM:
        await _stop_unknown(history, name)
    row = {
        "stream": name,
        "position": then.position,
        "version": then.version,
        "state": plain_state(then.state),
    }
    line = "[bold]{}[/] as of version {}, position {}"
    head = styled(line, name, then.version, then.position)
    return Output([row], [head, json_text(row["state"])])


async def _changes(
    data: CommandContext, stream: str, first: str, last: str
) -> Sequence[dict[str, Any]]:
    """Return each event after *first* up to *last*, and what it changed."""
    history = data.history
    after = await position_of(history, "--diff", first)
    upto = await position_of(history, "--diff", last)
    if after > upto:
        stop(f"--diff: {first} is after {last}", 2)
    found: list[dict[str, Any]] = []
    current, is_known = plain_state(category_of(stream).initial), False
    async for recorded, then in history.states(stream, upto):
        is_known, before, current = True, current, plain_state(then.state)
        if recorded.position > after:
            found.append(
                {
                    "position": recorded.position,
                    "version": then.version,
                    "type": topic_of(recorded.event),
                    "at": recorded.event.at,
                    "changes": tuple(changes(before, current)),
                }
            )
    if not is_known:
        await _stop_unknown(history, stream)
    return found


async def _stop_unknown(history: History, stream: str) -> None:
    now = await history.state_at(stream)
    if now.version == NO_STREAM:
        stop(f"{stream} has no events; `cs events export` shows which streams have")
    stop(f"{stream} had no events by then")


def _stream(said: str) -> str:
    if said.startswith("key_"):
        return f"key-{said}"
    if said.startswith("brand-") and "." in said:
        return stream_of(said)
    if category_name(said) not in CATEGORIES:
        known = ", ".join(CATEGORIES)
        stop(f"{said!r} is no stream: its name begins with its category ({known})", 2)
    return said


def _value(value: Any) -> str:
    text = "" if value is None else msgspec.json.encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
