"""What must hold in a cluster after a storm, besides what its clients were answered."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from system.cluster.cluster import Cluster
from system.cluster.storm_paid import Question
from system.faults.results import Report

#: In log lines that report a bug: a role that failed, a stage that raised.
BUGS = ("role_failed", "stage_bug", "Traceback", "never retrieved", "never awaited")


async def stored(cluster: Cluster) -> Report:
    """Check everything that is stored; nothing may be appended meanwhile."""
    *violations, verified = await _lines(cluster, "log", "verify", "--at-rest")
    *_, views = await _lines(cluster, "replay", "views", "--dry-run")
    counts, replayed = json.loads(verified), json.loads(views)
    ((behind,),) = await cluster.fetch(_VIEWS_BEHIND)
    faults = [f"log: {line}" for line in violations]
    faults += [f"view: {each}" for each in replayed["differences"]]
    if behind:
        faults.append(f"the views are {behind} events behind the log")
    if counts["unfinished"]:
        faults.append(f"{counts['unfinished']} searches are not settled")
    facts = {"events": counts["events"], "rows": sum(replayed["rows"].values())}
    return Report(facts, faults)


async def lookups_by_question(cluster: Cluster) -> Mapping[Question, int]:
    """Return how many lookups issued work for people of each brand, whatever the attempts."""
    rows = await cluster.fetch(_LOOKUPS_BY_QUESTION)
    return {(brand, domain): lookups for brand, domain, lookups in rows}


def bugs(cluster: Cluster) -> list[str]:
    """Return what roles logged as their own fault, whatever else went on."""
    return [
        f"bug: {name}: {line[:2000]}"
        for name, role in cluster.roles.items()
        for line in role.log.read_text(errors="replace").splitlines()
        if any(word in line for word in BUGS)
    ]


async def _lines(cluster: Cluster, *words: str) -> list[Any]:
    """Return what a command of the operator prints; it may end with a finding."""
    done = await asyncio.to_thread(
        subprocess.run,
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
