"""``cs report``: a period of the service, in figures."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from msgspec.structs import replace
from rich.text import Text

from cs.cli.choosing import (
    At,
    Domain,
    Reveal,
    Since,
    Until,
    check_lookup,
    check_period,
    chosen_brands,
    end_of,
    pseudonyms,
    query_of,
)
from cs.cli.command import Invocation, NewFile, Output, number, on_data
from cs.cli.output import Table, reading, sections_text, stop, styled, write_new
from cs.domain.brand.brand import stream_of
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosedEvents
from cs.history.comparing import PersonChange, compared, one_after_another, shown
from cs.history.history import History
from cs.history.pages import Page, page_html
from cs.history.report.figures import Report, make_report
from cs.history.report.rendering import BY, report_page
from cs.history.runs import Run
from cs.projections.searches import instant

#: The period without --since.
USUAL = timedelta(days=30)
#: Rows of a long figure that are shown, unless more are asked for; and at most.
TOP, MOST = 10, 1_000
#: Before this nothing happened, and sums with times begin to fail.
_EARLIEST, _LATEST = datetime(1971, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@on_data
async def report(
    at: Invocation,
    *,
    since: Since = None,
    until: Until = None,
    by: Annotated[
        Literal["key", "brand", "source", "month"] | None,
        Parameter(help="Only the figures by key, brand, source or month, all of them."),
    ] = None,
    html: Annotated[
        NewFile,
        Parameter(
            help="Write one self-contained page into this file, which must not be there."
        ),
    ] = None,
    top: Annotated[int, number(1, MOST, "Show so many rows of long figures.")] = TOP,
) -> Output:
    """Report on a period: outcomes, times, failures, yield and cost, verdicts, reuse.

    The period is the last 30 days unless --since or --until says otherwise.
    Counts searches when they are answered, runs when they end, addresses when they are
    checked. It contains no names of people. Each figure is a query that an export has as a view
    (docs/export-tables.md).

    Example: `cs report --since 2026-03-01 --until 2026-04-01 --html march.html`
    """
    if at.json and html is not None:
        stop("--json and --html: one of them", 2)
    data = await at.data()
    first, end = _period(since, until, data.clock.now())
    with reading("reporting") as show:
        found = await make_report(data.log, data.keys, first, end, progress=show)
    if by is not None:
        found, top = replace(found, figures={BY[by]: found.figures[BY[by]]}), MOST
    page = report_page(found, top)
    if html is not None:
        write_new(html, page_html(page))
        return Output(text=[f"written to {html}"])
    return Output([found], _parts(found, page))


def _period(
    since: datetime | None, until: datetime | None, now: datetime
) -> tuple[datetime, datetime]:
    until = until or now
    since = since or until - USUAL
    for option, at in (("--since", since), ("--until", until)):
        if not _EARLIEST <= at <= _LATEST:
            stop(f"{option}: a time from {_EARLIEST.year} on, not {at.isoformat()}", 2)
    check_period(since, until)
    return since.astimezone(UTC), until.astimezone(UTC)


def _parts(found: Report, page: Page) -> Iterator[str | Text | Table]:
    line = "[bold]{}[/] as of position {}, {} events"
    yield styled(line, page.lead, found.position, found.events)
    yield from (styled("[yellow]{}[/]", note) for note in page.notes)
    yield from sections_text(page.sections)


@on_data
async def compare(
    call: Invocation,
    first: Annotated[
        str | None, Parameter(help="A brand by its name, or a lookup's id.", show_default=False)
    ] = None,
    second: Annotated[
        str | None,
        Parameter(help="A later lookup's id, where the first is one.", show_default=False),
    ] = None,
    /,
    *,
    domain: Domain = None,
    at: At = None,
    reveal: Reveal = None,
) -> AsyncIterator[Output]:
    """Show who joined, who left, and whose title, level or address changed between two runs.

    Of a brand: between each of its runs and the one before, however it was asked for. People
    are named by pseudonyms that are the same in all runs, unless --reveal.

    Example: `cs compare Nike --at 2026-03-01`, and `cs compare LOOKUP LOOKUP --json`
    """
    lookups = _lookups(first, second, domain)
    data = await call.data()
    history = data.history
    # What is appended from here on the disclosure does not cover, so it is not read.
    upto = await end_of(history, at)
    if lookups:
        streams = {stream_of(lookup) for lookup in lookups}
    else:
        query = query_of(first, domain) or Query()
        streams = {each.stream for each in await chosen_brands(history, query, upto)}
    if reveal is not None:
        asked = DisclosedEvents(streams=tuple(sorted(streams)))
        await data.operator.disclose("compare", reveal, asked, upto=upto)
    if lookups:
        ended = [await _ended(history, each, upto, now=at is None) for each in lookups]
        pairs = [(ended[0], ended[1])]
    else:
        runs = [run for stream in streams for run in await history.runs(stream, upto)]
        pairs = [*one_after_another(sorted(runs, key=lambda run: run.position))]
    if not pairs:
        stop("fewer than two lookups have an answer: nothing to compare")
    both = {run.lookup: run for pair in pairs for run in pair}.values()
    who = await pseudonyms(data, [each["person"] for run in both for each in shown(run)])
    for before, after in pairs:
        changes, same = compared(before, after, who, reveals=reveal is not None)
        yield Output(rows=changes, text=_text(before, after, changes, same))


def _lookups(first: str | None, second: str | None, domain: str | None) -> Sequence[str]:
    """Return the two lookups that are named; none: a brand is.

    Raises:
        SystemExit: What is named cannot be compared.
    """
    named = [said for said in (first, second) if said is not None]
    if not named and domain is None:
        stop("name a brand, a --domain, or two lookups", 2)
    lookups = [said for said in named if said.startswith("brand-") and "." in said]
    if len(lookups) == 1:
        stop("name two lookups, or a brand; `cs searches list --json` shows lookups", 2)
    if second is not None and not lookups:
        stop(f"one brand at a time; {second!r} is no lookup", 2)
    if lookups and domain is not None:
        stop("--domain: lookups say which brand is meant", 2)
    return lookups


async def _ended(history: History, lookup: str, upto: int, *, now: bool) -> Run:
    run = await history.run(lookup, upto)
    if run is None and now:
        await check_lookup(history, lookup)
    if run is None:
        stop(f"{lookup} had not begun by then")
    if run.finished_at is None:
        stop(f"{lookup} {'has not ended yet' if now else 'had not ended by then'}")
    return run


def _text(before: Run, after: Run, changes: Sequence[PersonChange], same: int) -> Iterator[str]:
    yield f"{_about(before)} -> {_about(after)}"
    joined, left, changed = (
        sum(each.change == change for each in changes)
        for change in ("joined", "left", "changed")
    )
    yield f"  joined {joined}, left {left}, changed {changed}, the same {same}"
    yield from (f"  {_line(change)}" for change in changes)


def _about(run: Run) -> str:
    ended = "" if run.finished_at is None else f", {instant(run.finished_at)}"
    return f"{run.lookup} ({run.outcome}{ended})"


def _line(change: PersonChange) -> str:
    was, now = change.was, change.now
    one = now or was
    assert one is not None
    who = one["name"] or change.who or one["person"]
    if was is not None and now is not None:
        fields = "; ".join(_field(name, was, now) for name in change.changed)
        return f"{change.change} {who}: {fields}"
    said = [one[name] for name in ("title", "family", "level", "address") if one[name]]
    if one["address"] is None:
        said.append("verified" if one["verified"] else "no verified address")
    return f"{change.change} {who}: {', '.join(said)}"


def _field(name: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return what of *name* changed: in words where they may be shown."""
    before, after = was[name], now[name]
    if name == "address" and was["verified"] != now["verified"]:
        return "address verified" if now["verified"] else "address not verified any more"
    if before == after:  # hidden
        return f"another {name}"
    return f"{name} {before or 'none'} -> {after or 'none'}"
