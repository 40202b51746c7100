"""Sources and verifiers: calls, yield, cost for a verified e-mail, and how they ended."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from starlette.requests import Request

from cs.console.access import Session
from cs.console.views import Parts, View
from cs.domain.source_cost import MICROS, SourceFigures
from cs.history.pages import Page, Section, table
from cs.history.service_state import RecentRuns
from cs.projections.source_weeks import WEEKS, figures_until


async def show_sources(parts: Parts, request: Request, session: Session) -> View:
    """Show what every source and verifier was asked, gave and cost."""
    del request, session
    figures = await figures_until(parts.views, parts.clock.now())
    state = await parts.state.get(parts)
    rows = sorted(map(_row, figures), key=lambda row: -row["usd"])
    about = (
        f"The last {WEEKS} weeks; the dearest first."
        if rows
        else "None was asked in the last weeks."
    )
    fields = "name stage questions calls usd found used verified usd_per_email"
    return View(
        page=Page(
            title="Sources and verifiers",
            sections=[
                table("Cost and yield", rows, fields, about=about),
                _ends("How sources ended lately", state.sources),
                _ends("How verifiers ended lately", state.verifiers),
            ],
        ),
        command="cs report --by source",
    )


def _row(each: SourceFigures) -> dict[str, Any]:
    usd = each.micros / MICROS
    return {
        "name": each.name,
        "stage": each.stage,
        "questions": each.asked,
        "calls": each.calls,
        "usd": Decimal(each.micros) / MICROS,
        "found": each.found,
        "used": each.used,
        "verified": each.verified,
        "usd_per_email": f"{usd / each.verified:.4f}" if usd and each.verified else None,
    }


def _ends(heading: str, every: dict[str, RecentRuns]) -> Section:
    rows: Sequence[dict[str, Any]] = [
        {
            "name": name,
            "ended": ", ".join(f"{n} {how}" for how, n in sorted(runs.ended.items())),
            "last": f"{runs.last}: {runs.why}" if runs.why else runs.last,
            "at": runs.last_at,
        }
        for name, runs in sorted(every.items())
    ]
    return table(heading, rows, "name ended last at", about="" if rows else "None was asked.")
