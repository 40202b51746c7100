"""``cs log``: checks of the event log, and the trail of what operators did."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import httpx
import msgspec
from cyclopts import App, Parameter
from msgspec.structs import asdict

from cs.assembly.operator_command import CommandContext
from cs.assembly.service_checks import open_budgets
from cs.cli.choosing import Last, Since, newest
from cs.cli.command import Invocation, Output, number, on_data
from cs.cli.operator import act_words
from cs.cli.output import Progress, Table, as_text, facts, reading, stop, styled
from cs.domain.operator_actions import OperatorAct, act_of
from cs.eventlog.audit import Audit, Violation
from cs.eventlog.damage import read_past
from cs.eventlog.port import EventLog, NewerEvent, RecordedEvent
from cs.history.archive import archive
from cs.history.service_state import RecentRuns, ServiceState, read_state
from cs.keystore.lost import LostValue, Why
from cs.operations.restored import neighbours_ahead
from cs.paid_calls.errors import CallsUnavailable
from cs.paid_calls.forecast import PACE_DAYS, Forecast, read_forecast
from cs.projections.searches import instant
from cs.runtime.durations import in_words
from cs.settings import BadSettings, Settings

if TYPE_CHECKING:
    from cs.assembly.cluster_view import ClusterView
    from cs.postgres.processes import ProcessState

app = App(
    name="log",
    help="The event log: everything that ever happened.\n\n"
    "Works on the data folder, next to a running service or without one.",
)


class LogVerification(msgspec.Struct, frozen=True):
    events: int
    unfinished: int
    views_at: int
    violations: int


@app.command
@on_data
async def trail(
    at: Invocation,
    *,
    last: Last = None,
    since: Since = None,
    by: Annotated[str | None, Parameter(help="Show only acts of this account.")] = None,
) -> Output:
    """Show what operators did: keys, quota, pauses, brands, people erased or opened.

    The account is the one that ran the command, or the setting `operator`. Reads the whole
    log. A person is a hash that does not identify them.

    Example: `cs log trail --last 20`, or `cs log trail --since 2026-03-01 --by anna`
    """
    data = await at.data()
    every = [
        act
        async for recorded in _events(data.log, await data.log.head())
        if (act := act_of(recorded.stream, recorded.event)) is not None
    ]
    accounts = {act.by or "?" for act in every}
    if by is not None and by not in accounts:
        stop(f"--by: {by} did nothing; there are {', '.join(sorted(accounts))}")
    acts = [act for act in every if by in {None, act.by} and (since is None or act.at >= since)]

    def table(shown: Sequence[OperatorAct]) -> Table:
        rows = [{**asdict(act), "by": act.by or "?", "what": act_words(act)} for act in shown]
        return Table.of(rows, "at by what of", "of")

    return newest(at, acts, last, table)


@app.command
@on_data
async def verify(
    at: Invocation,
    *,
    at_rest: Annotated[
        bool, Parameter(help="Nothing runs: every search of an ended lookup is settled.")
    ] = False,
) -> AsyncIterator[Output]:
    """Check the whole log against every promise: no charge twice, no limit exceeded.

    Also checks that the views are not ahead of the log, that snapshots are what its events
    fold to, and that no data key of a person in it is lost. Prints each violation, then
    counts. Exit code 1 if there is any. Events that are appended meanwhile are not checked.

    Example: `cs log verify --json`, one line a violation and one of counts
    """
    async for each in verified(await at.data(), at_rest=at_rest):
        match each:
            case Violation():
                line = "[red]{}[/] {} {} at {}"
                place = (each.kind, each.stream, each.what, each.position)
                yield Output([each], [styled(line, *place)])
            case LogVerification():
                line = (
                    f"{each.events} events, {each.unfinished} searches not settled, "
                    f"views at {each.views_at}: {each.violations or 'no'} violations"
                )
                yield Output([each], [line], code=bool(each.violations))


async def verified(
    data: CommandContext, *, at_rest: bool = False
) -> AsyncIterator[Violation | LogVerification]:
    """Yield each violation in the log of *data*, then the counts."""
    # The views first: the log only grows, so every event that they show is below its head.
    views_at = await data.views.position()
    head = await data.log.head()
    audit, violations = Audit(), 0
    for each in await neighbours_ahead(data.log, data.keys):
        violations += 1
        yield Violation("restored", each.position, "log", each.sentence(head))
    async for found in _violations(data, audit, views_at, head, at_rest=at_rest):
        violations += 1
        yield found
    yield LogVerification(audit.events, audit.unfinished, views_at, violations)


async def _violations(
    data: CommandContext, audit: Audit, views_at: int, head: int, *, at_rest: bool
) -> AsyncIterator[Violation]:
    if views_at > head:
        what = f"they show position {views_at}, the log ends at {head}"
        yield Violation("position", views_at, "views", what)
    newer, lost = None, dict[LostValue, None]()
    try:
        with data.keys.lost.listening(lost.setdefault):
            async for recorded in _events(data.log, head):
                for found in audit.check(recorded):
                    yield found
    except NewerEvent as error:
        newer = error
        what = f"{newer.topic} is of a newer version; what comes after is not checked"
        yield Violation("newer", newer.position, newer.stream, what)
    for value in lost:
        what = f"{value.name} reads as erased: {_WHY_LOST[value.why]}"
        yield Violation("key-lost", value.position, value.stream, what)
    if newer is not None:
        return
    if audit.events != head:
        what = f"{audit.events} events up to position {head}"
        yield Violation("position", head, "log", what)
    async for wrong in data.streams.wrong_snapshots():
        what = f"at version {wrong.version} it is not what the events fold to; empty the table"
        yield Violation("snapshot", 0, wrong.stream, f"{what} `snapshots`")
    for found in audit.end() if at_rest else ():
        yield found


@app.command(name="archive")
@on_data
async def copy_old_events(
    at: Invocation,
    directory: Annotated[Path, Parameter(help="Folder to make.")],
    /,
    *,
    before: Annotated[int, number(2, 2**62, "First position that is left out.")],
    after: Annotated[int, number(0, 2**62, "Last position of the archive before.")] = 0,
) -> Output:
    """Copy the events below a position to Parquet files, for cold storage and analysts.

    As they are stored: people stay sealed, and who is erased cannot be read in an archive
    either. Each file is read back and compared with the log; `manifest.json` has its SHA-256.
    The log stays whole: it is not made smaller.

    Example: `cs log archive --before 1000001 /cold/events-to-1000000`
    """
    data = await at.data()
    upto = min(before - 1, await data.log.head())
    if after >= upto:
        stop(f"there is no event after {after} and before {before}", 2)
    with reading("events") as show:
        done = await archive(data.log, data.keys, after, upto, directory, progress=show)
    return Output([done], [f"{upto - after} events in {directory}, compared with the log"])


_WHY_LOST: Mapping[Why, str] = {
    "missing": "the key store has no key of that name, and never destroyed one",
    "another": "the key store has another key of that name",
    "unnamed": "another key of that name, or damaged: sealed before values named their key",
}


async def _events(log: EventLog, head: int) -> AsyncIterator[RecordedEvent]:
    """Yield the events up to position *head*, and show how far it is."""
    position = 0
    with Progress() as progress:
        while position < head and (page := await read_past(log, position)):
            for recorded in page:
                if recorded.position <= head:
                    yield recorded
            position = page[-1].position
            progress.show(f"{min(position, head)} of {head} events")


#: Measures of the admin port, which are not shown while it is ready.
_MEASURES = frozenset({"views_behind", "position", "leads", "bus", "clock_off_s"})
_DAMAGED = "not known: the stream `service` is damaged (cs log verify)"
_SEARCHES = {True: "paused: new ones are refused", False: "taken", None: _DAMAGED}
#: Longest wait for the admin port.
ADMIN_S = 2.0


@on_data
async def status(at: Invocation) -> Output:
    """Show the state of the service: what runs, how far behind, what failed last.

    Read from the data folder or the databases, next to a running service or without one. Of
    one process also from the admin port of the settings; over several processes each
    reports itself in the databases, and those of roles that are missing are named. How sources
    and verifiers ended is counted over the runs of the newest 5,000 events.

    Example: `cs status --data-dir /var/lib/cs`
    """
    data = await at.data()
    found = await read_state(data.log, data.keys, data.views, data.streams, data.clock)
    ahead = await neighbours_ahead(data.log, data.keys, data.views)
    restored = [each.sentence(found.events) for each in ahead]
    chosen, health, cluster = at.settings(), None, None
    if chosen.postgres is None:
        admin = _admin(chosen)
        health = await _health(admin)
        health_words = f"nothing answers at {admin}" if health is None else _describe(health)
    else:
        # Imported here: a command on a data folder starts sooner without PostgreSQL's driver.
        from cs.assembly.cluster_view import view_cluster  # noqa: PLC0415

        cluster = await view_cluster(chosen, "sandbox" if found.world == "sandbox" else "live")
        health_words = _cluster_words(cluster)
    spending = await _spending(chosen, found.world)
    about_money = spending if isinstance(spending, str) else _spending_words(spending)
    text: list[str | Table] = [
        *facts([*_lines(found, health_words), ("spending", about_money)])
    ]
    text += _cluster_tables(cluster, found.events) if cluster is not None else []
    text += [f"restored: {each} (cs restore accept)" for each in restored]
    for kind, every in (("source", found.sources), ("verifier", found.verifiers)):
        text += [_ends(kind, every)] if every else []
    if found.failures:
        fields = "at brand outcome why lookup"
        text += ["last failures:", Table.of(found.failures, fields, "why")]
    unknown = isinstance(spending, str)
    money = {"why": spending} if unknown else msgspec.to_builtins(spending)
    row = {**msgspec.to_builtins(found), "restored": restored, "health": health}
    row["cluster"] = msgspec.to_builtins(cluster)
    return Output([row | {"spending": money}], text)


async def _spending(chosen: Settings, world: str | None) -> Forecast | str | None:
    """Return how spending goes on, ``None`` if nothing was asked, or why it is not known."""
    if chosen.postgres is not None and chosen.stages_postgres is None:
        return "not known: stages_postgres is not set"
    try:
        async with open_budgets(chosen, "sandbox" if world == "sandbox" else "live") as budgets:
            return await read_forecast(budgets)
    except (BadSettings, CallsUnavailable) as error:
        return f"not known: {error}"


def _spending_words(found: Forecast | None) -> str:
    if found is None:
        return "no paid service was asked lately"
    caps = {"day": found.usd_per_day, "month": found.usd_per_month}
    named = " and ".join(
        f"${cap:,.2f} a {period}" for period, cap in caps.items() if cap is not None
    )
    words = (
        f"${found.usd_today:,.2f} today, ${found.usd_this_month:,.2f} this month; at "
        f"${found.usd_a_day:,.2f} a day, the mean of the last {PACE_DAYS} days, "
        f"${found.usd_at_month_end:,.2f} at its end; "
    )
    if not named:
        return f"{words}no cap in all (usd_per_day, usd_per_month)"
    if found.cap_reached_at is None:
        return f"{words}caps {named}: not reached at this pace"
    later = found.cap_reached_at > found.at
    when = f"reached at {instant(found.cap_reached_at)}" if later else "reached"
    return f"{words}caps {named}: usd_per_{found.cap_reached} is {when}"


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


def _lines(found: ServiceState, health: str) -> Iterator[tuple[str, str | None]]:
    no_world = _DAMAGED if found.paused is None else "none yet: no service has run on this data"
    damaged = f"; {found.damaged} damaged (cs log verify)" if found.damaged else ""
    work = ", ".join(f"{count} {stage}" for stage, count in sorted(found.work.items()))
    since = f"; oldest for {found.oldest_work_s:g} s" if found.oldest_work_s is not None else ""
    yield "world", found.world or no_world
    yield "searches", _SEARCHES[found.paused]
    yield "health", health
    yield (
        "running",
        f"{found.lookups} lookups, {found.searches} searches wait for them{damaged}",
    )
    yield "queue", f"{work or 'no work is open'}{since}"
    yield "log", f"{found.events} events"
    yield "views", f"{found.views_behind} events behind"
    yield "sources", None if found.sources else "none was asked lately"
    yield "verifiers", None if found.verifiers else "none was asked lately"


def _cluster_words(cluster: "ClusterView") -> str:
    unwell = [f"{each.role} on {each.process}" for each in cluster.unwell]
    well = len(cluster.processes) - len(unwell)
    return "; ".join(
        [
            f"{well} processes are ready",
            *([f"not ready: {', '.join(unwell)}"] if unwell else []),
            *([f"no process of: {', '.join(cluster.missing)}"] if cluster.missing else []),
            *([] if cluster.stages_known else ["stages: not known without stages_postgres"]),
        ]
    )


def _cluster_tables(cluster: "ClusterView", head: int) -> list[str | Table]:
    processes = [
        {
            "role": each.role,
            "process": each.process,
            "version": each.version,
            "up": in_words(each.up_s),
            "seen": f"{each.seen_s:.0f} s ago",
            "state": _process_words(each),
        }
        for each in cluster.processes
    ]
    leases = [
        {
            "lease": name,
            "led by": lease.holder if lease.taken else "no process",
            "epoch": lease.epoch,
            "behind": f"{max(0, head - cluster.relayed)} events" if name == "relay" else "-",
        }
        for name, lease in cluster.leases.items()
    ]
    every = Table.of(processes, "role process version up seen state", "state")
    led = [list(map(str, lease.values())) for lease in leases]
    return [every, Table(["Lease", "Led by", "Epoch", "Behind"], led)]


def _process_words(process: "ProcessState") -> str:
    if process.silent:
        return f"silent for {in_words(process.seen_s)}; last: {_describe(process.health)}"
    bus = process.health.get("bus", {}).get("subscriptions", ())
    waits = sum(each["lag"] or 0 for each in bus)
    leads = "; leads" if process.health.get("leads") else ""
    return f"{_describe(process.health)}{leads}" + (f"; {waits} messages wait" if waits else "")


def _describe(health: Mapping[str, Any]) -> str:
    ready = health.get("ready", False)
    hidden = {"ready", "head", "bus", *(_MEASURES if ready else ())}
    problems = [
        f"{name}: {as_text(what)}"
        for name, what in health.items()
        if name not in hidden and what != "ok"
    ]
    if why := health.get("bus", {}).get("why"):
        problems.insert(0, f"bus: {why}")
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
