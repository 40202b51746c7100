"""``cs report``: a period of the service, in figures."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.new_file import check_new, write_new
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop, styled, warn
from cs.cli.prices import Prices, prices_by_name
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.cli.times import time_of
from cs.history.report.figures import Report
from cs.history.report.making import TOP
from cs.history.report.period import Period
from cs.history.report.reading import make_report
from cs.history.report.tables import ReportTable, tables
from cs.history.report.words import day, facts, notes, sparks
from cs.settings import Settings

#: The period if nothing is said.
USUAL = timedelta(days=30)
#: Of the busiest, at most.
MOST = 1_000
#: Before this nothing happened, and sums with times begin to fail.
_EARLIEST, _LATEST = datetime(1971, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


def report(
    *,
    since: Annotated[
        str | None,
        Parameter(
            help="From this time on: 2026-03-01 or 2026-03-01T12:00:00Z; else 30 days back."
        ),
    ] = None,
    until: Annotated[str | None, Parameter(help="Before this time; else now.")] = None,
    html: Annotated[
        Path | None,
        Parameter(
            help="Write one self-contained page into this file, which must not be there."
        ),
    ] = None,
    price: Prices = (),
    top: Annotated[int, Parameter(help="Show so many of the busiest.")] = TOP,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Report on a period: outcomes, times, yield and cost, verdicts, reuse, who is busiest.

    Counts searches when they are answered, runs when they finish, addresses when they are
    checked. Nothing of a person is in it.

    Example: `cs report --since 2026-03-01 --until 2026-04-01 --html march.html`
    """
    if json and html is not None:
        stop("--json and --html: one of them", 2)
    if not 1 <= top <= MOST:
        stop(f"--top: a whole number from 1 to {MOST}, not {top}", 2)
    prices = prices_by_name(price)
    limits = (time_of("--since", since), time_of("--until", until))
    if html is not None:
        check_new(html)
    chosen = settings(config, data_dir=data_dir)
    found = asyncio.run(_report(chosen, limits, prices, top))
    if json:
        print_json(found)
    elif html is not None:
        _write(html, found)
        console.print(f"written to {html}")
    else:
        _show(found)


def _period(limits: tuple[datetime | None, datetime | None], now: datetime) -> Period:
    since, until = limits
    until = until or now
    since = since or until - USUAL
    for option, at in (("--since", since), ("--until", until)):
        if not _EARLIEST <= at <= _LATEST:
            stop(f"{option}: a time from {_EARLIEST.year} on, not {at.isoformat()}", 2)
    if since >= until:
        stop(f"--since: a time before {until.isoformat()}, where the period ends", 2)
    return Period(since.astimezone(UTC), until.astimezone(UTC))


async def _report(
    chosen: Settings,
    limits: tuple[datetime | None, datetime | None],
    prices: Mapping[str, Decimal],
    top: int,
) -> Report:
    async with open_command_context(chosen) as data:
        period = _period(limits, data.clock.now())
        with Progress() as progress:

            def show_progress(position: int, upto: int) -> None:
                progress.show(f"{position} of {upto} positions read")

            found = await make_report(
                data.log, data.keys, period, prices=prices, top=top, progress=show_progress
            )
    unknown = prices.keys() - _asked(found)
    if unknown:
        known = ", ".join(sorted(_asked(found))) or "nobody"
        warn(f"--price: {', '.join(sorted(unknown))} was not asked in this period, {known} was")
    return found


def _asked(found: Report) -> set[str]:
    return {
        *(each.source for each in found.brand_sources),
        *(each.source for each in found.people_sources),
        *(each.verifier for each in found.verifiers),
    }


def _write(file: Path, found: Report) -> None:
    """Write the page of *found* into *file*, private to its owner."""
    from cs.history.report.page import report_page  # noqa: PLC0415  only for pages

    write_new(file, report_page(found))


def _show(found: Report) -> None:
    console.print(
        styled("[bold]{}[/] until {}, UTC", day(found.since), day(found.until)),
        f"as of position {found.upto}, {found.events} events",
    )
    for name, value in facts(found):
        console.print(f"{name:<38}{value}")
    if found.searches.answered:
        console.print(f"{'Over time':<38}{sparks(found)}")
    for note in notes(found):
        console.print(styled("[yellow]{}[/]", note))
    for table in tables(found):
        _show_table(table)


def _show_table(table: ReportTable) -> None:
    console.print()
    console.print(styled("[bold]{}[/]", table.title))
    if table.about:
        console.print(table.about)
    if table.rows:
        print_table(table.columns, table.rows, folds=table.words)
    else:
        console.print(table.empty)
