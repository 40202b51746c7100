"""``cs status``: the state of the service, on one screen."""

import asyncio
from typing import Any

import httpx
import msgspec
from rich.text import Text

from cs.assembly.operator_command import open_command_context
from cs.cli.options import Config, DataDir, Json
from cs.cli.output import console, print_json, print_table
from cs.cli.service_state import RecentRuns, ServiceState, read_state
from cs.cli.settings_in_force import settings
from cs.projections.searches import instant
from cs.settings import Settings

#: What the admin port measures: nothing to tell of while it is ready.
_MEASURES = frozenset({"views_behind", "position", "leads", "parts", "bus", "clock_off_s"})
_DAMAGED = "not known: the stream `service` is damaged (cs log verify)"
#: By whether the API is paused; ``None``: nobody can say.
_SEARCHES = {True: "paused: new ones are refused", False: "taken", None: _DAMAGED}
#: Longest wait for the admin port.
ADMIN_S = 2.0


def status(*, json: Json = False, data_dir: DataDir = None, config: Config = None) -> None:
    """Show how the service stands: what runs, how far behind, what failed last.

    Read from the data folder or the databases, beside a running service or without one,
    and from the admin port of the settings if something answers there. How sources and
    verifiers ended is counted over the newest 5,000 events.

    Example: `cs status --data-dir /var/lib/cs`
    """
    chosen = settings(config, data_dir=data_dir)

    async def run() -> tuple[ServiceState, dict[str, Any] | None]:
        async with open_command_context(chosen) as data:
            found = await read_state(data)
        return found, await _health(chosen)

    found, health = asyncio.run(run())
    if json:
        print_json({**msgspec.to_builtins(found), "health": health})
        return
    for name, value in _lines(found, health, _admin(chosen)):
        console.print(f"{name:<16}{value}")
    _print_ends("Source", found.sources)
    _print_ends("Verifier", found.verifiers)
    if found.failures:
        columns = ("Failed at", "Reason", "Last attempt", "Lookup")
        rows = [(instant(f.at), f.outcome, f.why or "-", f.lookup) for f in found.failures]
        print_table(columns, rows, folds=["Last attempt"])


def _admin(chosen: Settings) -> str:
    host = chosen.admin_host if ":" not in chosen.admin_host else f"[{chosen.admin_host}]"
    return f"http://{host}:{chosen.admin_port}/readyz"


async def _health(chosen: Settings) -> dict[str, Any] | None:
    """Return what the admin port says, ``None`` if no service of ours answers there."""
    try:
        async with httpx.AsyncClient(timeout=ADMIN_S, trust_env=False) as client:
            answer = await client.get(_admin(chosen))
        body = msgspec.json.decode(answer.content, type=dict[str, Any])
    except (httpx.HTTPError, httpx.InvalidURL, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return body if "ready" in body else None


def _lines(
    found: ServiceState, health: dict[str, Any] | None, admin: str
) -> list[tuple[str, str]]:
    work = ", ".join(f"{count} {stage}" for stage, count in sorted(found.work.items()))
    since = f"; oldest for {found.oldest_work_s:g} s" if found.oldest_work_s is not None else ""
    waiting = f"{found.searches} searches wait for them"
    no_world = _DAMAGED if found.paused is None else "none yet: no service has run on this data"
    damaged = f"; {found.damaged} damaged (cs log verify)" if found.damaged else ""
    return [
        ("world", found.world or no_world),
        ("searches", _SEARCHES[found.paused]),
        ("health", _describe_health(health, admin)),
        ("running", f"{found.lookups} lookups, {waiting}{damaged}"),
        ("queue", f"{work or 'no work is open'}{since}"),
        ("log", f"{found.events} events"),
        ("views", f"{found.views_behind} events behind"),
    ]


def _describe_health(health: dict[str, Any] | None, admin: str) -> str:
    if health is None:
        return f"nothing answers at {admin}"
    ready = health["ready"]
    parts = ["ready" if ready else "not ready"]
    for name, what in health.items():
        is_left_out = name in {"ready", "head"} or what == "ok" or (ready and name in _MEASURES)
        if not is_left_out:
            parts += [f"{name}: {each}" for each in _each(what)]
    return "; ".join(parts)


def _each(what: Any) -> list[str]:
    match what:
        case dict():
            return [f"{name}: {', '.join(_each(why))}" for name, why in what.items()]
        case list():
            return [str(each) for each in what]
        case _:
            return [str(what)]


def _print_ends(what: str, every: dict[str, RecentRuns]) -> None:
    if not every:
        console.print(f"{what.lower() + 's':<16}none was asked lately")
        return
    rows: list[tuple[str | Text, ...]] = []
    for name, ends in sorted(every.items()):
        counts = ", ".join(f"{count} {how}" for how, count in sorted(ends.ended.items()))
        at = instant(ends.last_at) if ends.last_at is not None else "-"
        last = f"{ends.last}: {ends.why}" if ends.why else ends.last
        rows.append((name, counts, last, at))
    print_table((what, "Ended", "Last", "At"), rows, folds=["Ended", "Last"])
