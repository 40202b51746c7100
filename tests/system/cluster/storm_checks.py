"""What must hold in a cluster after a storm, beside what its clients were told."""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec

from cs.assembly.postgres_stores import open_shared_stores
from cs.domain.brand.events import StageIssued
from cs.domain.key import SearchAdmitted
from cs.domain.stages.work import DiscoveryInput
from cs.eventlog.port import EventLog, RecordedEvent
from cs.eventlog.sealing import open_bytes
from cs.keystore.port import KeyStore
from cs.projections.brands import BRANDS
from cs.projections.catalogue import projections
from cs.projections.returned import RETURNED
from cs.projections.rows import Table
from cs.projections.runner import ViewRunner
from cs.projections.searches import RESULTS, SEARCHES, ResultRow
from cs.projections.sqlite import sqlite_views
from cs.projections.usage import USAGE
from cs.projections.views import Views
from cs.settings import load
from system.cluster.cluster import Cluster
from system.cluster.storm_paid import Question

EVERY: tuple[Table[Any], ...] = (SEARCHES, USAGE, BRANDS, RETURNED, RESULTS)


#: Names of log lines that tell of a bug: a role that fell over, a stage that raised.
BUGS = ("role_failed", "stage_bug", "Traceback", "never retrieved", "never awaited")


class Stored(msgspec.Struct, frozen=True):
    """What the databases hold in the end."""

    events: int
    log: Sequence[str]  # violations, as `cs log verify` tells them
    unfinished: int  # searches not settled
    views: Sequence[str]  # rows that are not those of a replay
    rows: int  # of all views
    histories: Mapping[str, Sequence[str]]  # by search: what happened to its lookup
    questions: Mapping[Question, int]  # how many lookups asked for people of each brand


async def stored(cluster: Cluster) -> Stored:
    """Read everything; nobody may append meanwhile."""
    counts, violations = verified(cluster)
    settings = load(cluster.settings_file, environment=cluster.environment)
    async with open_shared_stores(settings, "test") as data:
        rows, wrong = await compared(data.log, data.views, data.keys)
        histories = await _histories(data.log)
        asked = await _questions(data.log)
    return Stored(
        counts["events"], violations, counts["unfinished"], wrong, rows, histories, asked
    )


def verified(cluster: Cluster) -> tuple[Mapping[str, int], Sequence[str]]:
    """Return the counts of `cs log verify`, and each violation that it told."""
    done = subprocess.run(
        [sys.executable, "-m", "cs", "log", "verify", "--at-rest", "--json"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    return json.loads(lines[-1]), lines[:-1]


async def compared(log: EventLog, views: Views, keys: KeyStore) -> tuple[int, Sequence[str]]:
    """Replay *log*; return how many rows that gives, and where *views* differ from them."""
    fresh = sqlite_views(None, projections())
    await ViewRunner(log, fresh, keys).catch_up()
    wrong = []
    if (here := await views.position()) != (there := await fresh.position()):
        wrong.append(f"the views are at {here}, the log at {there}")
    number = 0
    for table in EVERY:
        found = {name: await _plain(row, keys) for name, row in await views.all(table)}
        meant = {name: await _plain(row, keys) for name, row in await fresh.all(table)}
        number += len(meant)
        wrong += [
            f"{table.name} {name}: {found.get(name)}, not {meant.get(name)}"
            for name in sorted(found.keys() | meant.keys())
            if found.get(name) != meant.get(name)
        ]
    await fresh.close()
    return number, wrong


async def _plain(row: Any, keys: KeyStore) -> Any:
    """Return *row* with what it has sealed: a row is sealed anew each time it is made."""
    if not isinstance(row, ResultRow):
        return row
    key = (await keys.find([row.key]))[row.key]
    return row.head, row.key, json.loads(open_bytes(key, row.key, row.sealed))


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
