"""The processes of a cluster, for a person: a line for each change."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from system.cluster.cluster import Cluster
from system.cluster.health import Health


class Row(NamedTuple):
    """One process."""

    name: str
    pid: int | None  # None: it does not run
    state: str  # ready | starts | not ready | runs | ended
    leads: bool | None = None
    restarts: int = 0


def rows(cluster: Cluster, health: Mapping[str, Health | None]) -> list[Row]:
    """Return every process of *cluster*: the servers, the world, the roles."""
    postgres, world = cluster.postgres, cluster.world
    found = [Row("postgres", postgres.pid, "runs")]
    for broker in cluster.kafka.brokers:
        runs = broker.process is not None and broker.process.poll() is None
        pid = broker.process.pid if broker.process is not None and runs else None
        found.append(Row(f"broker-{broker.number}", pid, "runs" if runs else "ended"))
    runs = world.runs
    found.append(Row("world", world.pid if runs else None, "runs" if runs else "ended"))
    for name, role in cluster.roles.items():
        said = health.get(name)
        runs = role.runs
        found.append(
            Row(
                name,
                role.pid if runs else None,
                _state(said, runs=runs, was_ready=role.is_ready),
                said.leads if said is not None else None,
                role.starts - 1,
            )
        )
    return found


def _state(said: Health | None, *, runs: bool, was_ready: bool) -> str:
    if not runs:
        return "ended"
    if said is None:
        return "not ready" if was_ready else "starts"
    return "ready" if said.ready else "not ready"


def changes(before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each process of *after* that is not as it was *before*.

    >>> was = [Row("relay-1", 7, "ready", True), Row("relay-2", 8, "ready", False)]
    >>> list(changes(was, [Row("relay-1", None, "ended"), Row("relay-2", 8, "ready", True)]))
    ['relay-1 ended', 'relay-2 ready, leads, process 8']
    """
    known = {row.name: row for row in before}
    for row in after:
        if known.get(row.name) != row:
            words = [row.state, *(["leads"] if row.leads else [])]
            words += [f"process {row.pid}"] if row.pid is not None else []
            yield f"{row.name} {', '.join(words)}"
