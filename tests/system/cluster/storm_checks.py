"""What must hold in a cluster after a storm, besides what its clients were answered."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

import msgspec

from system.cluster.cluster import Cluster
from system.cluster.storm_paid import Question
from system.faults.results import ClientResults

#: In log lines that report a bug: a role that failed, a stage that raised.
BUGS = ("role_failed", "stage_bug", "Traceback", "never retrieved", "never awaited")


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """What was done to the cluster."""

    kills: Mapping[str, int]  # by kind of role
    at_start: int
    points: Mapping[str, int]  # fail points at which a role died
    missing: Sequence[str]  # those at which none did, and one was meant to
    servers: Sequence[str]
    fell: Sequence[str]  # roles that ended by themselves
    bugs: Sequence[str]  # what roles logged as their own fault
    seconds: float


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What the databases hold in the end."""

    events: int
    log: Sequence[str]  # violations, as `cs log verify` prints them
    unfinished: int  # searches not settled
    views: Sequence[str]  # rows that are not those of a replay (`cs replay views`)
    rows: int  # of all views


class Report(msgspec.Struct, frozen=True, kw_only=True):
    damage: Damage
    clients: ClientResults
    stored: Stored
    paid: int
    paid_twice: Sequence[str]

    @property
    def faults(self) -> list[str]:
        """Return every promise that was broken; empty if all were kept."""
        stored = self.stored
        found = [*self.clients.faults, *(f"log: {line}" for line in stored.log)]
        found += [f"view: {line}" for line in stored.views]
        found += [f"paid twice: {question}" for question in self.paid_twice]
        if not self.paid:
            found.append("no call was paid for: nothing was proven")
        found += [f"bug: {line}" for line in self.damage.bugs]
        found += [f"no role died at {point}" for point in self.damage.missing]
        if stored.unfinished:
            found.append(f"{stored.unfinished} searches are not settled")
        return found


async def stored(cluster: Cluster) -> Stored:
    """Check everything that is stored; nothing may be appended meanwhile."""
    *violations, verified = _lines(cluster, "log", "verify", "--at-rest")
    *_, replayed = map(json.loads, _lines(cluster, "replay", "views", "--dry-run"))
    wrong = [f"{each['table']} {each['row_id']}: {each}" for each in replayed["differences"]]
    ((behind,),) = await cluster.fetch(_VIEWS_BEHIND)
    if behind:
        wrong.append(f"the views are {behind} events behind the log")
    counts = json.loads(verified)
    return Stored(
        events=counts["events"],
        log=violations,
        unfinished=counts["unfinished"],
        views=wrong,
        rows=sum(replayed["rows"].values()),
    )


async def lookups_by_question(cluster: Cluster) -> Mapping[Question, int]:
    """Return how many lookups issued work for people of each brand, whatever the attempts."""
    rows = await cluster.fetch(_LOOKUPS_BY_QUESTION)
    return {(brand, domain): lookups for brand, domain, lookups in rows}


def bugs(cluster: Cluster) -> list[str]:
    """Return what roles logged as their own fault, whatever else went on."""
    return [
        f"{name}: {line[:2000]}"
        for name, role in cluster.roles.items()
        for line in role.log.read_text(errors="replace").splitlines()
        if any(word in line for word in BUGS)
    ]


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


_VIEWS_BEHIND = """
SELECT (SELECT max(notification_id) FROM stored_events)
     - (SELECT position FROM view_builds WHERE serving)
"""
_LOOKUPS_BY_QUESTION = """
SELECT input -> 'brand' ->> 'name', COALESCE(input -> 'brand' ->> 'domain', ''),
       count(DISTINCT lookup)
FROM (SELECT state -> 'input' AS input, state ->> 'lookup' AS lookup
      FROM (SELECT convert_from(state, 'UTF8')::jsonb AS state FROM stored_events
            WHERE topic = 'brand.stage-issued.v1') AS events
      WHERE state ->> 'stage' = 'contact-discovery') AS issued
GROUP BY 1, 2
"""
