"""The report of a period: the figures of ``cs report``, each with its SQL next to it."""

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.addresses import chosen, same
from cs.console.views import NOT_READY, ROWS, Input, Parts, View
from cs.domain.key import SearchSettled
from cs.eventlog.port import Where
from cs.history.pages import Page, Section
from cs.history.report import FIGURES, MACROS
from cs.history.report.figures import Report
from cs.history.report.rendering import report_page
from cs.projections.reading import topics_of

#: Periods that are offered, in days; the second is chosen unless another one is.
PERIODS = {"week": 7, "30 days": 30, "quarter": 90, "year": 365}
USUAL = timedelta(days=30)
#: Before this nothing happened, and sums with times begin to fail.
YEARS = range(1971, 9_000)


async def show_report(parts: Parts, request: Request, _: Session) -> View:
    """Show the figures of a period of whole days."""
    tomorrow = _day_after(parts.clock.now())
    until = _day(request, "until") or await _end_of_data(parts, tomorrow)
    since = _day(request, "since") or until - USUAL
    if since >= until:
        raise HTTPException(400, "since: a day before the one that the period ends with")
    report: Report | None = await parts.slow.get("report", since, until)
    page = None if report is None else report_page(report, ROWS)
    words = ("cs", "report", "--since", f"{since:%F}", "--until", f"{until:%F}")
    return View(
        title="Report" if page is None else page.title,
        lead="" if page is None else f"{page.lead}. {page.foot}",
        sections=[NOT_READY] if page is None else [*_sections(page)],
        command=shlex.join([*words, "--top", str(ROWS)]),
        filters=[
            Input("since", "From, year-month-day", f"{since:%F}"),
            Input("until", "Before", f"{until:%F}"),
        ],
        spans=[
            (name, same(request, since=f"{begin:%F}", until=f"{tomorrow:%F}"), begin == since)
            for name, days in PERIODS.items()
            for begin in [tomorrow - timedelta(days=days)]
        ],
    )


async def _end_of_data(parts: Parts, tomorrow: datetime) -> datetime:
    """Return *tomorrow*, or the day after the last search if the usual period has none."""
    found, _ = await parts.newest(Where(topics=topics_of(SearchSettled)), None)
    for each in await parts.opened(found[:1]):
        if each.event.at < tomorrow - USUAL:
            return _day_after(each.event.at)
    return tomorrow


def _day_after(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def _sections(page: Page) -> Iterator[Section]:
    """Yield the figures of *page*, each with its SQL, and the macros that they share."""
    for figure, section in zip(FIGURES, page.sections, strict=True):
        yield replace(section, folded=[(f"SQL: {figure.name}", figure.sql)])
    yield Section(
        heading="To ask further questions",
        about="`cs events export --out history.duckdb` writes the tables that these figures "
        "are selected from, and each figure as a view: docs/analysts.md.",
        folded=[("SQL: macros that the figures use", ";\n\n".join(MACROS))],
    )


def _day(request: Request, name: str) -> datetime | None:
    """Return the day that the parameter *name* says; ``None``: it is not there.

    Raises:
        HTTPException: 400: it is no day.
    """
    said = chosen(request, name)
    if said is None:
        return None
    try:
        day = datetime.strptime(said, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        day = None
    if day is None or day.year not in YEARS:
        raise HTTPException(400, f"{name}: a day is written 2026-03-01")
    return day
