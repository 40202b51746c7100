"""What must hold in a cluster after a storm, beside what its clients were told."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec

from cs.assembly.postgres_stores import open_shared_stores
from cs.domain.brand.events import StageIssued
from cs.domain.key import SearchAdmitted
from cs.domain.stages.work import DiscoveryInput
from cs.eventlog.port import EventLog, RecordedEvent
from cs.settings import load
from system.cluster.cluster import Cluster
from system.cluster.storm_paid import Question

#: Names of log lines that tell of a bug: a role that fell over, a stage that raised.
BUGS = ("role_failed", "stage_bug", "Traceback", "never retrieved", "never awaited")


class Stored(msgspec.Struct, frozen=True):
    """What the databases hold in the end."""

    events: int
    log: Sequence[str]  # violations, as `cs log verify` prints them
    unfinished: int  # searches not settled
    views: Sequence[str]  # rows that are not those of a replay (`cs replay views`)
    rows: int  # of all views
    histories: Mapping[str, Sequence[str]]  # by search: what happened to its lookup
    questions: Mapping[Question, int]  # how many lookups asked for people of each brand


async def stored(cluster: Cluster) -> Stored:
    """Read everything; nothing may be appended meanwhile."""
    *violations, verified = _lines(cluster, "log", "verify", "--at-rest")
    *_, replayed = map(json.loads, _lines(cluster, "replay", "views", "--dry-run"))
    wrong = [f"{each['table']} {each['row_id']}: {each}" for each in replayed["differences"]]
    settings = load(cluster.settings_file, environment=cluster.environment)
    async with open_shared_stores(settings, "test") as data:
        if (at := await data.views.position()) != (head := await data.log.head()):
            wrong.append(f"the views are at {at}, the log at {head}")
        histories = await _histories(data.log)
        asked = await _questions(data.log)
    counts, rows = json.loads(verified), sum(replayed["rows"].values())
    return Stored(
        counts["events"], violations, counts["unfinished"], wrong, rows, histories, asked
    )


def _lines(cluster: Cluster, *words: str) -> list[str]:
    """Return what a command of the operator prints; it may end with a finding."""
    done = subprocess.run(
        [sys.executable, "-m", "cs", *words, "--json"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return done.stdout.splitlines()


async def _histories(log: EventLog) -> Mapping[str, Sequence[str]]:
    """Return by search what happened to its lookup, an event a line."""
    lookups: dict[str, list[str]] = defaultdict(list)
    of_search: dict[str, str] = {}
    async for recorded in _events(log):
        event = recorded.event
        lookup = getattr(event, "lookup", None)
        if isinstance(event, SearchAdmitted):
            of_search[event.search] = event.lookup
        if lookup is not None:
            lookups[lookup].append(_line(recorded))
    return {search: lookups[lookup] for search, lookup in of_search.items()}


async def _questions(log: EventLog) -> Mapping[Question, int]:
    """Return how many lookups issued work for people of each brand, whatever the attempts."""
    lookups: dict[Question, set[str]] = defaultdict(set)
    async for recorded in _events(log):
        match recorded.event:
            case StageIssued(lookup=lookup, input=DiscoveryInput(brand=brand)):
                lookups[brand.name, brand.domain or ""].add(lookup)
            case _:
                pass
    return {question: len(of) for question, of in lookups.items()}


async def _events(log: EventLog) -> AsyncIterator[RecordedEvent]:
    position = 0
    while page := await log.tail(position):
        for recorded in page:
            yield recorded
        position = page[-1].position


def _line(recorded: RecordedEvent) -> str:
    event = recorded.event
    shown = {
        name: getattr(event, name)
        for name in ("search", "stage", "item", "attempt", "why", "retry_at", "outcome")
        if getattr(event, name, None)
    }
    said = " ".join(f"{name}={value}" for name, value in shown.items())
    return f"{event.at:%H:%M:%S} {recorded.position} {type(event).__name__} {said}"


def bugs(cluster: Cluster) -> list[str]:
    """Return what roles told of as their own fault, whatever else went on."""
    return [
        f"{name}: {line[:2000]}"
        for name, role in cluster.roles.items()
        for line in role.log.read_text(errors="replace").splitlines()
        if any(word in line for word in BUGS)
    ]
