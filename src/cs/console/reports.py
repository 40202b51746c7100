"""The report of a period: the figures of ``cs report``, each with its SQL next to it."""

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace
from starlette.exceptions import HTTPException
from starlette.requests import Request

from cs.console.access import Session
from cs.console.views import NOT_READY, ROWS, Input, Parts, View, chosen, same
from cs.history.pages import Page, Section
from cs.history.report import FIGURES, MACROS
from cs.history.report.figures import Report
from cs.history.report.rendering import report_page

#: Periods that are offered, in days; the second is chosen unless another one is.
PERIODS = {"week": 7, "30 days": 30, "quarter": 90, "year": 365}
USUAL = timedelta(days=30)
#: Before this nothing happened, and sums with times begin to fail.
YEARS = range(1971, 9_000)


async def show_report(parts: Parts, request: Request, _: Session) -> View:
    """Show the figures of a period of whole days."""
    today = parts.clock.now().replace(hour=0, minute=0, second=0, microsecond=0)
    tomorrow = today + timedelta(days=1)
    until = _day(request, "until") or tomorrow
    since = _day(request, "since") or until - USUAL
    if since >= until:
        raise HTTPException(400, "since: a day before the one that the period ends with")
    report: Report | None = await parts.slow.get("report", since, until)
    if report is None:
        page = Page(title="Report", sections=[NOT_READY])
    else:
        page = report_page(report, ROWS)
        page = replace(
            page, lead=f"{page.lead}. {page.foot}", foot="", sections=[*_sections(page)]
        )
    words = ("cs", "report", "--since", f"{since:%F}", "--until", f"{until:%F}")
    return View(
        page=page,
        command=shlex.join([*words, "--top", str(ROWS)]),
        filters=[
            Input(name="since", label="From, year-month-day", value=f"{since:%F}"),
            Input(name="until", label="Before", value=f"{until:%F}"),
        ],
        spans=[
            (name, same(request, since=f"{begin:%F}", until=f"{tomorrow:%F}"), begin == since)
            for name, days in PERIODS.items()
            for begin in [tomorrow - timedelta(days=days)]
        ],
    )


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
