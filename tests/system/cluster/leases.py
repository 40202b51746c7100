"""What leaders have written, as the databases have it, and which of them gave up."""

import asyncio
import json
from collections.abc import Mapping
from typing import NamedTuple

import asyncpg

from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster

#: What a role logs when it leads no more.
GAVE_UP = {"lease_lost", "lease_ran_out", "stopped_leading"}


class Lease(NamedTuple):
    pid: int  # of whoever leads, or led last
    epoch: int


class Place(NamedTuple):
    """How far in the log, and under which lease that was written."""

    position: int
    epoch: int


class Written(NamedTuple):
    head: int  # of the log
    leases: Mapping[str, Lease]  # by what is led: "relay", "feed", "driver", "views"
    reached: Mapping[str, Place]  # "relay", "feed", "views"

    @property
    def at_rest(self) -> bool:
        """Whether everybody who keeps a place is at the log's end."""
        return all(place.position == self.head for place in self.reached.values())

    @property
    def epochs(self) -> Mapping[str, int]:
        """Under which lease each place was written."""
        return {what: place.epoch for what, place in self.reached.items()}

    def led_by(self, role: ServiceProcess) -> set[str]:
        return {what for what, lease in self.leases.items() if lease.pid == role.pid}


def written(cluster: Cluster) -> Written:
    return asyncio.run(_written(cluster.postgres.dsn_of("service")))


async def _written(dsn: str) -> Written:
    connection = await asyncpg.connect(dsn)
    try:
        head, leases, reached = [await connection.fetch(each) for each in _QUESTIONS]
    finally:
        await connection.close()
    return Written(
        head[0]["head"],
        {row["what"]: Lease(int(row["pid"]), row["epoch"]) for row in leases},
        {row["name"]: Place(row["position"], row["epoch"]) for row in reached},
    )


_QUESTIONS = (
    "SELECT COALESCE(max(notification_id), 0) AS head FROM stored_events",
    """
    SELECT split_part(name, ' ', 1) AS what, split_part(holder, ':', 2) AS pid, epoch
    FROM leases
    """,
    """
    SELECT name, position, epoch FROM checkpoints
    UNION ALL SELECT 'views', position, epoch FROM view_builds
    """,
)


def given_up(role: ServiceProcess, after: int) -> set[str]:
    """Return what *role* has given up to lead since its log had *after* characters."""
    lines = role.log.read_text()[after:].splitlines(keepends=True)
    told = [json.loads(line) for line in lines if line.startswith("{") and line[-1] == "\n"]
    return {line["what"].split(" ")[0] for line in told if line["event"] in GAVE_UP}
