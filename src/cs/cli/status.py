"""``cs status``, ``cs pause``, ``cs resume``: the state of the service, and its switch."""

from collections.abc import Iterator
from typing import Any

import httpx
import msgspec

from cs.cli.command import Invocation, Output, on_data
from cs.cli.output import Table, as_text, facts
from cs.history.service_state import RecentRuns, ServiceState, read_state
from cs.settings import Settings

#: Measures of the admin port, which are not shown while it is ready.
_MEASURES = frozenset({"views_behind", "position", "leads", "bus", "clock_off_s"})
_DAMAGED = "not known: the stream `service` is damaged (cs log verify)"
_SEARCHES = {True: "paused: new ones are refused", False: "taken", None: _DAMAGED}
#: Longest wait for the admin port.
ADMIN_S = 2.0


@on_data
async def pause(at: Invocation) -> Output:
    """Refuse new searches with 503 `api_disabled`; reading and running searches go on.

    Works next to a running service, which sees it within a second.

    Example: `cs pause --data-dir /var/lib/cs`
    """
    return _switched("paused", changed=await (await at.data()).operator.pause())


@on_data
async def resume(at: Invocation) -> Output:
    """Accept new searches again, after `cs pause`.

    Example: `cs resume --data-dir /var/lib/cs`
    """
    return _switched("resumed", changed=await (await at.data()).operator.resume())


def _switched(state: str, *, changed: bool) -> Output:
    said = f"the API is {state}" if changed else f"the API was {state} before"
    return Output([{"api": state, "changed": changed}], [said])


@on_data
async def status(at: Invocation) -> Output:
    """Show the state of the service: what runs, how far behind, what failed last.

    Read from the data folder or the databases, next to a running service or without one,
    and from the admin port of the settings if a service answers there. How sources and
    verifiers ended is counted over the runs of the newest 5,000 events.

    Example: `cs status --data-dir /var/lib/cs`
    """
    data = await at.data()
    found = await read_state(data.log, data.keys, data.views, data.streams, data.clock)
    admin = _admin(at.settings())
    health = await _health(admin)
    text: list[str | Table] = [*facts(_lines(found, health, admin))]
    for kind, every in (("source", found.sources), ("verifier", found.verifiers)):
        text += [_ends(kind, every)] if every else []
    if found.failures:
        text += ["last failures:", Table.of(found.failures, "at outcome why lookup", "why")]
    return Output([{**msgspec.to_builtins(found), "health": health}], text)


def _admin(chosen: Settings) -> str:
    host = chosen.admin_host if ":" not in chosen.admin_host else f"[{chosen.admin_host}]"
    return f"http://{host}:{chosen.admin_port}/readyz"


async def _health(admin: str) -> dict[str, Any] | None:
    """Return the answer of the admin port, ``None`` if no service answers there."""
    try:
        async with httpx.AsyncClient(timeout=ADMIN_S, trust_env=False) as client:
            answer = await client.get(admin)
        body = msgspec.json.decode(answer.content, type=dict[str, Any])
    except (httpx.HTTPError, httpx.InvalidURL, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return body if "ready" in body else None


def _lines(
    found: ServiceState, health: dict[str, Any] | None, admin: str
) -> Iterator[tuple[str, str | None]]:
    no_world = _DAMAGED if found.paused is None else "none yet: no service has run on this data"
    damaged = f"; {found.damaged} damaged (cs log verify)" if found.damaged else ""
    work = ", ".join(f"{count} {stage}" for stage, count in sorted(found.work.items()))
    since = f"; oldest for {found.oldest_work_s:g} s" if found.oldest_work_s is not None else ""
    yield "world", found.world or no_world
    yield "searches", _SEARCHES[found.paused]
    yield "health", _describe_health(health, admin)
    yield (
        "running",
        f"{found.lookups} lookups, {found.searches} searches wait for them{damaged}",
    )
    yield "queue", f"{work or 'no work is open'}{since}"
    yield "log", f"{found.events} events"
    yield "views", f"{found.views_behind} events behind"
    yield "sources", None if found.sources else "none was asked lately"
    yield "verifiers", None if found.verifiers else "none was asked lately"


def _describe_health(health: dict[str, Any] | None, admin: str) -> str:
    if health is None:
        return f"nothing answers at {admin}"
    ready = health["ready"]
    hidden = {"ready", "head", *(_MEASURES if ready else ())}
    problems = (
        f"{name}: {as_text(what)}"
        for name, what in health.items()
        if name not in hidden and what != "ok"
    )
    return "; ".join(["ready" if ready else "not ready", *problems])


def _ends(kind: str, every: dict[str, RecentRuns]) -> Table:
    rows = [
        {
            kind: name,
            "ended": ", ".join(f"{count} {how}" for how, count in sorted(runs.ended.items())),
            "last": f"{runs.last}: {runs.why}" if runs.why else runs.last,
            "at": runs.last_at,
        }
        for name, runs in sorted(every.items())
    ]
    return Table.of(rows, f"{kind} ended last at", "ended last")
