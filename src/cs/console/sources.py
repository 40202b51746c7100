"""Sources and verifiers: calls, yield, cost for a verified e-mail, caps, and how they ended."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from msgspec.structs import asdict
from starlette.requests import Request

from cs.console.access import Session
from cs.console.views import Action, Form, Parts, View
from cs.domain.source_cost import MICROS, SourceFigures
from cs.history.pages import Section, listed, table
from cs.history.service_state import RecentRuns
from cs.history.words import ENDED
from cs.paid_calls.budgets import Spending
from cs.paid_calls.service import WORKS, CheckedPlugin
from cs.projections.source_weeks import WEEKS, figures_until

#: The least time between two checks of the same kind; a form waits as long for the answers.
CHECKED_S = ASKED_S = 10.0
_KINDS = ("sources", "verifiers")


async def show_sources(parts: Parts, _request: Request, _session: Session) -> View:
    """Show what every source and verifier was asked, gave and cost."""
    figures = await figures_until(parts.views, parts.clock.now())
    state = await parts.state.get(parts)
    rows = sorted(map(_row, figures), key=lambda row: -row["usd"])
    about = f"The last {WEEKS} weeks; the dearest first."
    fields = "name stage questions calls usd found used verified usd_per_email"
    checked = [each for kind in _KINDS for each in parts.slow.last("check", kind) or ()]
    return View(
        title="Sources and verifiers",
        sections=[
            table("Cost and yield", rows, fields, about=about, none="None was asked yet."),
            _spent(await parts.spending()),
            *([_checks(checked)] if checked else []),
            _ends("sources", state.sources, state.recent),
            _ends("verifiers", state.verifiers, state.recent),
        ],
        command="cs report --by source",
        actions=[Action(f"Check {kind}", f"/console/sources/check-{kind}") for kind in _KINDS],
    )


async def check(parts: Parts, request: Request, _session: Session, _form: Form) -> str:
    """Ask every source, or every verifier, whether it works."""
    kind = request.url.path.rpartition("-")[2]
    found = await parts.slow.get("check", kind, kept_s=CHECKED_S, wait_s=ASKED_S)
    if found is None:
        return "They are being asked: the page shows the answers in a minute."
    works = sum(each.found.ended == WORKS for each in found)
    return f"{works} of {len(found)} {kind} work; the page shows each."


def _row(each: SourceFigures) -> dict[str, Any]:
    usd = each.micros / MICROS
    per_email = f"{usd / each.verified:.4f}" if each.verified else f"${usd:.2f}, no e-mail"
    return asdict(each) | {
        "questions": each.asked,
        "usd": Decimal(each.micros) / MICROS,
        "usd_per_email": per_email if usd else None,
    }


def _spent(every: Sequence[tuple[Spending, float, float]] | str) -> Section:
    """Return what of the caps of a day and a month is used."""
    if isinstance(every, str):
        return Section(heading="Budgets", about=f"They cannot be read now: {every}.")
    rows = [
        {
            "name": spent.service,
            "calls_today": spent.calls_today,
            "today": f"${spent.micros_today / MICROS:.2f} of ${a_day:g}",
            "this_month": f"${spent.micros_this_month / MICROS:.2f} of ${a_month:g}",
            "paused": spent.paused_why or None,
        }
        for spent, a_day, a_month in every
    ]
    about = "By days and months of UTC, with what is reserved for calls under way."
    return listed("Budgets", rows, about=about, none="Nothing was spent today or this month.")


def _checks(every: Sequence[CheckedPlugin]) -> Section:
    rows = [{"name": each.name, "kind": each.kind, **asdict(each.found)} for each in every]
    return table("The last check", rows, "name kind ended usd_per_call left why")


def _ends(kind: str, every: dict[str, RecentRuns], recent: int) -> Section:
    rows: Sequence[dict[str, Any]] = [
        {
            "name": name,
            "ended": ", ".join(
                f"{n} {ENDED.get(how, how)}" for how, n in sorted(runs.ended.items())
            ),
            "last": ": ".join(filter(None, (ENDED.get(runs.last, runs.last), runs.why))),
            "at": runs.last_at,
        }
        for name, runs in sorted(every.items())
    ]
    asked = "In" if rows else "None was asked in"
    about = f"{asked} lookups that began in the newest {recent} events, whenever that was."
    return listed(f"How {kind} ended", rows, about=about)
