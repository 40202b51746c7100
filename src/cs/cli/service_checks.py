"""How checks of outside services are told: a line each, and whether one of them failed."""

import asyncio
from collections.abc import AsyncIterator

import msgspec

from cs.assembly.service_checks import NO_FAULT, CheckedPlugin
from cs.cli.output import console, print_json, print_table, stop
from cs.paid_calls.service import WORKS

_COLUMNS = ("Name", "State", "Price", "Today", "This month", "Note")


def tell_checks(checks: AsyncIterator[CheckedPlugin], *, json: bool) -> None:
    """Print *checks*: as JSON lines as they end, or as a table; exit 1 if one failed."""

    async def run() -> list[CheckedPlugin]:
        rows = []
        async for each in checks:
            if json:
                named = {"name": each.name, "kind": each.kind}
                print_json(named | msgspec.to_builtins(each.found))
            rows.append(each)
        return rows

    rows = asyncio.run(run())
    if not json:
        print_table(
            _COLUMNS, [_cells(row) for row in rows], folds=["Today", "This month", "Note"]
        )
        cost = sum(row.found.usd for row in rows)
        works = sum(row.found.ended == WORKS for row in rows)
        console.print(f"{works} of {len(rows)} work; this check cost ${cost:.3f} at most")
    failed = [row.name for row in rows if row.found.ended not in NO_FAULT]
    if failed:
        stop(f"failed: {', '.join(failed)}")


def _cells(row: CheckedPlugin) -> list[str]:
    found = row.found
    return [
        *(row.name, found.ended),
        "" if found.usd_per_call is None else f"${found.usd_per_call:g}",
        _of(found.usd_today, found.usd_per_day),
        _of(found.usd_this_month, found.usd_per_month),
        found.why or (f"{found.left} left" if found.left else ""),
    ]


def _of(spent: float | None, cap: float | None) -> str:
    return "" if spent is None or cap is None else f"${spent:.2f} of ${cap:g}"
