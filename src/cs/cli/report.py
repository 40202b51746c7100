"""``cs report``: a period of the service, in figures."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from cyclopts import Parameter
from msgspec.structs import replace
from rich.text import Text

from cs.cli.choosing import Since, Until, check_period
from cs.cli.command import Invocation, NewFile, Output, number, on_data
from cs.cli.output import Table, sections_text, stop, styled, write_new
from cs.cli.progress import Progress
from cs.history.pages import Page, page_html
from cs.history.report.figures import Report, make_report
from cs.history.report.rendering import BY, report_page

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
    with Progress() as progress:

        def show(position: int, upto: int) -> None:
            progress.show(f"{position} of {upto} positions read")

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
