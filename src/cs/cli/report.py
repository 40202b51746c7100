"""``cs report``: a period of the service, in figures."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from cs.assembly.operator_command import open_command_context
from cs.cli.moment import time_of
from cs.cli.new_file import check_new, write_new
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table, stop, styled, warn
from cs.cli.prices import Prices, prices_by_name
from cs.cli.progress import Progress
from cs.cli.settings_in_force import settings
from cs.history.report.figures import Report, make_report
from cs.history.report.rendering import (
    BY,
    TextTable,
    day,
    notes,
    report_page,
    sparks,
    summary,
    text_of,
)
from cs.settings import Settings

#: The period if nothing is said.
USUAL = timedelta(days=30)
#: Rows of a long figure that are shown, unless more are asked for; and at most.
TOP, MOST = 10, 1_000
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
    by: Annotated[
        Literal["key", "brand", "source", "month"] | None,
        Parameter(help="Only the figures by key, brand, source or month, all of them."),
    ] = None,
    html: Annotated[
        Path | None,
        Parameter(
            help="Write one self-contained page into this file, which must not be there."
        ),
    ] = None,
    price: Prices = (),
    top: Annotated[int, Parameter(help="Show so many rows of long figures.")] = TOP,
    json: Json = False,
    data_dir: DataDir = None,
    config: Config = None,
) -> None:
    """Report on a period: outcomes, times, failures, yield and cost, verdicts, reuse.

    Counts searches when they are answered, runs when they end, addresses when they are
    checked. It names nobody. Each figure is a query that an export has as a view
    (docs/export-tables.md).

    Example: `cs report --since 2026-03-01 --until 2026-04-01 --html march.html`
    """
    if json and html is not None:
        stop("--json and --html: one of them", 2)
    if not 1 <= top <= MOST:
        stop(f"--top: a whole number from 1 to {MOST}, not {top}", 2)
    prices = {name: float(usd) for name, usd in prices_by_name(price).items()}
    limits = (time_of("--since", since), time_of("--until", until))
    if html is not None:
        check_new(html)
    chosen = settings(config, data_dir=data_dir)
    found = asyncio.run(_report(chosen, limits, prices))
    if by is not None:
        found = found.only(BY[by])
    if json:
        print_json(found.plain())
    elif html is not None:
        write_new(html, report_page(found, top))
        console.print(f"written to {html}")
    else:
        _show(found, MOST if by is not None else top, short=by is not None)


def _period(
    limits: tuple[datetime | None, datetime | None], now: datetime
) -> tuple[datetime, datetime]:
    since, until = limits
    until = until or now
    since = since or until - USUAL
    for option, at in (("--since", since), ("--until", until)):
        if not _EARLIEST <= at <= _LATEST:
            stop(f"{option}: a time from {_EARLIEST.year} on, not {at.isoformat()}", 2)
    if since >= until:
        stop(f"--since: a time before {until.isoformat()}, where the period ends", 2)
    return since.astimezone(UTC), until.astimezone(UTC)


async def _report(
    chosen: Settings,
    limits: tuple[datetime | None, datetime | None],
    prices: Mapping[str, float],
) -> Report:
    async with open_command_context(chosen) as data:
        since, until = _period(limits, data.clock.now())
        with Progress() as progress:

            def show_progress(position: int, upto: int) -> None:
                progress.show(f"{position} of {upto} positions read")

            found = await make_report(
                data.log, data.keys, since, until, prices=prices, progress=show_progress
            )
    asked = found.names()
    if unknown := prices.keys() - asked:
        known = ", ".join(sorted(asked)) or "nobody"
        warn(f"--price: {', '.join(sorted(unknown))} was not asked in this period, {known} was")
    return found


def _show(found: Report, top: int, *, short: bool) -> None:
    console.print(
        styled("[bold]{}[/] until {}, UTC", day(found.since), day(found.until)),
        f"as of position {found.position}, {found.events} events",
    )
    if not short:
        for name, value in summary(found):
            console.print(f"{name:<38}{value}")
        console.print(f"{'Searches over time':<38}{sparks(found)}")
    for note in notes(found):
        console.print(styled("[yellow]{}[/]", note))
    for each in found.figures if short else found.figures[1:]:
        _show_table(text_of(each, top))


def _show_table(table: TextTable) -> None:
    console.print()
    console.print(styled("[bold]{}[/]", table.title))
    console.print(table.about)
    if table.rows:
        print_table(table.columns, table.rows, folds=table.words)
    else:
        console.print("Nothing in this period.")
    if table.left_out:
        console.print(f"{table.left_out} more; --top shows them")
