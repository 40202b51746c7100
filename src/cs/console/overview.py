"""The first page: what is wrong, what runs now, and what happened lately."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request

from cs.console.access import Session
from cs.console.activity import SPANS, Bucket, Span
from cs.console.addresses import brand_link, chosen, lookup_link, same
from cs.console.views import Action, Form, Parts, View
from cs.domain.source_cost import MICROS
from cs.domain.stages.table import STAGES
from cs.history.pages import Link, Section, facts, listed
from cs.history.service_state import ServiceState
from cs.history.words import OUTCOMES
from cs.runtime.durations import in_words

#: What `_wrong` looks at, where nothing is.
NOTHING = (
    "Nothing found. Checked: readiness, pause, damage, data keys, settings, lag of the views, "
    "Kafka, forged outcomes, sources and verifiers that could not answer, dead letters."
)
#: Events by which views are behind before it is shown as wrong.
BEHIND = 1_000


async def overview(parts: Parts, request: Request, _: Session) -> View:
    """Show what is wrong, what runs, and what happened in the chosen time."""
    span = next((each for each in SPANS if each.name == chosen(request, "span")), SPANS[0])
    ready, health = await parts.ready.check()
    state = await parts.state.get(parts)
    buckets = parts.activity.of(span)
    wrong = [*_wrong(ready, health, state)]
    if letters := [] if parts.dead_letters is None else await parts.dead_letters.newest():
        where = Link("read them", "/console/dead-letters")
        wrong.append({"what": "Dead letters", "cause": str(len(letters)), "do_next": where})
    pause = "Resume" if state.paused else "Pause"
    outcomes = sorted({name for _, bucket in buckets for name in bucket.outcomes})
    return View(
        title="Overview",
        lead=f"World {state.world or 'none yet'}; {state.events} events; "
        f"views {state.views_behind} behind",
        sections=[
            listed("What is wrong", wrong, none=NOTHING),
            _running(state),
            _lately(span, [bucket for _, bucket in buckets]),
            _failures(state),
        ],
        command="cs status",
        live=True,
        actions=[Action(pause, f"/console/{pause.lower()}")],
        spans=[(each.name, same(request, span=each.name), each == span) for each in SPANS],
        times=[at.timestamp() for at, _ in buckets],
        plots={
            "Searches ended": {
                name: [b.outcomes[name] for _, b in buckets] for name in outcomes
            },
            "Lookups, p50 and p95 in seconds": {
                f"p{q}": [b.quantile("lookup", q / 100) for _, b in buckets] for q in (50, 95)
            },
            "Cost in US dollars": {"cost": [b.micros / MICROS for _, b in buckets]},
        },
    )


def _wrong(  # noqa: C901  one row for each that may be wrong
    ready: bool, health: Mapping[str, Any], state: ServiceState
) -> Iterator[Mapping[str, Any]]:
    """Yield what is wrong, the worst first, each with its cause and what to do."""

    def row(what: str, cause: object, do: str) -> Mapping[str, str]:
        return {"what": what, "cause": str(cause), "do_next": do}

    if not ready:
        reasons = [
            f"{name}: {health[name]}"
            for name in ("log", "keys", "held", "misconfigured")
            if health.get(name, "ok") != "ok"
        ]
        yield row("Not ready", "; ".join(reasons) or "see /readyz", "cs doctor")
    if state.paused:
        yield row("Paused", "new searches are refused with 503", "Resume, below")
    if "set_aside" in health:
        yield row("Damaged streams", health["set_aside"], "cs log verify")
    if "keys_lost" in health:
        yield row("Data keys lost", health["keys_lost"], "restore the keys")
    if ready and "misconfigured" in health:
        yield row("Settings", health["misconfigured"], "cs config check")
    for name, what in health.get("insecure", {}).items():
        yield row("Insecure", f"{name}: {', '.join(what)}", "cs config check")
    if state.views_behind > BEHIND:
        yield row("Views behind", f"{state.views_behind} events", "cs log verify")
    bus = health.get("bus")
    if bus is not None and not bus["reachable"]:
        yield row("Kafka is away", bus, "docs/runbook.md, KafkaIsAway")
    if "outcomes_forged" in health:
        yield row("Forged outcomes", health["outcomes_forged"], "docs/runbook.md")
    for kind, every in (("Source", state.sources), ("Verifier", state.verifiers)):
        for name, runs in sorted(every.items()):
            if runs.why:
                yield row(
                    f"{kind} {name}", f"{runs.last}: {runs.why}", f"cs {kind.lower()}s check"
                )


def _running(state: ServiceState) -> Section:
    work = [
        {"stage": name, "work": state.work.get(name, 0)}
        for name in [*STAGES, *(set(state.work) - set(STAGES))]
    ]
    oldest = state.oldest_work_s
    about = f"{state.lookups} lookups run, {state.searches} searches wait for them"
    if oldest is not None:
        about += f"; the oldest work is {in_words(oldest)} old"
    return listed("Running now", work, about=f"{about}.")


def _lately(span: Span, buckets: Sequence[Bucket]) -> Section:
    total = Bucket()
    for bucket in buckets:
        total.add(bucket)
    rows = [
        {
            "stage": stage,
            "p50": _seconds(total.quantile(stage, 0.5)),
            "p95": _seconds(total.quantile(stage, 0.95)),
        }
        for stage in ("lookup", *STAGES)
    ]
    values = {
        "searches ended": total.outcomes.total(),
        "answered from reuse": total.reused,
        "charged": total.charged,
        "cost": f"${total.micros / MICROS:.2f}",
        **{OUTCOMES.get(name, name): count for name, count in total.outcomes.most_common()},
    }
    return listed(f"The last {span.name}", rows, facts=facts(values))


def _failures(state: ServiceState) -> Section:
    rows = [
        {
            "at": each.at,
            "brand": brand_link(each.brand, each.lookup),
            "outcome": each.outcome,
            "why": each.why,
            "lookup": lookup_link(each.lookup),
        }
        for each in state.failures
    ]
    none = f"None in the newest {state.recent} events."
    return listed("Last lookups without an e-mail", rows, none=none)


def _seconds(value: float | None) -> str | None:
    return None if value is None else in_words(value)


async def pause_or_resume(parts: Parts, request: Request, session: Session, _: Form) -> str:
    """Refuse new searches, or accept them again."""
    if request.url.path.endswith("/pause"):
        changed = await parts.operator(session).pause()
        return "The API is paused." if changed else "The API was paused before."
    changed = await parts.operator(session).resume()
    return "The API is resumed." if changed else "The API was not paused."
