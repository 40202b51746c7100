"""``cs sources`` and ``cs verifiers``: a cheap call to each outside service."""

from collections.abc import AsyncIterator

import msgspec
from cyclopts import App

from cs.assembly.service_checks import NO_FAULT, CheckedPlugin, check_sources, check_verifiers
from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import Table
from cs.paid_calls.service import WORKS

sources = App(name="sources", help="Try the sources of brands and people.")
verifiers = App(name="verifiers", help="Try the verifiers of mailboxes.")


@sources.command(name="check")
@on_data
def check_every_source(at: Invocation) -> AsyncIterator[Output]:
    """Ask every source once, as cheaply as it can be asked, and say what works.

    A table: whether each works or why not, the price of a call, the amounts spent of today's
    and this month's caps, and what the service says is left. Calls count, also against the
    caps; most cost nothing, one question of a search engine at most. A source without a key
    is shown as not-configured, and one that cannot be asked cheaply as not-checked.

    With --json one line for each: name, kind, ended (works, not-configured, not-checked, or
    the problem), why, left, usd (of this check), usd_per_call, usd_per_day, usd_per_month,
    usd_today, usd_this_month.

    Example: `cs sources check --config cs.toml`, or `cs sources check --json`
    """
    return _checked(check_sources(at.settings()))


@verifiers.command(name="check")
@on_data
def check_every_verifier(at: Invocation) -> AsyncIterator[Output]:
    """Ask every verification service once, about an address for trials, and say what works.

    A table: whether each works or why not, the price of a call, the amounts spent of today's
    and this month's caps, and what the service says is left. Each costs one call; ZeroBounce's
    address for trials is free. One without a key is shown as not-configured; smtp asks no
    service and is shown as not-checked.

    With --json one line for each: name, kind, ended (works, not-configured, not-checked, or
    the problem), why, left, usd (of this check), usd_per_call, usd_per_day, usd_per_month,
    usd_today, usd_this_month.

    Example: `cs verifiers check --config cs.toml`, or `cs verifiers check --json`
    """
    return _checked(check_verifiers(at.settings()))


async def _checked(checks: AsyncIterator[CheckedPlugin]) -> AsyncIterator[Output]:
    """Yield a row as each check ends, then the table of all."""
    every = []
    async for each in checks:
        named = {"name": each.name, "kind": each.kind}
        yield Output([named | msgspec.to_builtins(each.found)])
        every.append(each)
    columns = ("Name", "State", "Price", "Today", "This month", "Note")
    table = Table(columns, [_cells(each) for each in every], ["Today", "This month", "Note"])
    cost = sum(each.found.usd for each in every)
    works = sum(each.found.ended == WORKS for each in every)
    failed = [each.name for each in every if each.found.ended not in NO_FAULT]
    yield Output(
        text=[
            table,
            f"{works} of {len(every)} work; this check cost ${cost:.3f} at most",
        ],
        problem=f"failed: {', '.join(failed)}" if failed else None,
    )


def _cells(row: CheckedPlugin) -> list[str]:
    found = row.found
    return [
        row.name,
        found.ended,
        "" if found.usd_per_call is None else f"${found.usd_per_call:g}",
        _of(found.usd_today, found.usd_per_day),
        _of(found.usd_this_month, found.usd_per_month),
        found.why or (f"{found.left} left" if found.left else ""),
    ]


def _of(spent: float | None, cap: float | None) -> str:
    return "" if spent is None or cap is None else f"${spent:.2f} of ${cap:g}"
