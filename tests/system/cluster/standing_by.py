"""A second process of every role that is led, and who leads."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster

#: Roles of which one process leads.
LED = ("relay", "process-manager", "project")


@contextmanager
def standing_by(cluster: Cluster) -> Iterator[None]:
    """Run a second process of each of `LED` until left."""
    added = [cluster.add(kind) for kind in LED]
    try:
        cluster.start_missing()
        yield
    finally:
        for role in added:
            role.end()
            del cluster.roles[role.name]
        cluster.start_missing()


def leads(cluster: Cluster, role: ServiceProcess) -> bool:
    url = f"http://127.0.0.1:{cluster.admin_ports[role.name]}/readyz"
    told: bool = httpx.get(url, timeout=10).json()["leads"]
    return told


def leader(cluster: Cluster, kind: str) -> ServiceProcess:
    """Return the process of *kind* that leads, once one does."""
    found: list[ServiceProcess] = []

    def one_leads() -> bool:
        found[:] = [role for role in cluster.of(kind) if role.runs and leads(cluster, role)]
        return len(found) == 1

    seconds_until(one_leads)
    return found[0]


def seconds_until(condition: Callable[[], bool], timeout_s: float = 60.0) -> float:
    """Return after how many seconds *condition* held."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, "it did not come about in time"
    return time.monotonic() - began
