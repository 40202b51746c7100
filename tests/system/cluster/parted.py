"""Two processes of each role that is shared out, in as many parts, and who leads which."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import httpx

from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster

#: Roles whose work is shared out in parts.
SHARED_OUT = ("relay", "process-manager")
PARTS = "CS_PARTS"


@contextmanager
def in_parts(cluster: Cluster, number: int) -> Iterator[None]:
    """Run as many processes of each of `SHARED_OUT`, in *number* parts, until left."""
    added: list[ServiceProcess] = []
    try:
        end(cluster)
        added = [cluster.add(kind) for kind in SHARED_OUT for _ in range(number - 1)]
        for kind in SHARED_OUT:
            for role in cluster.of(kind):
                role.environment = {**role.environment, PARTS: str(number)}
        cluster.start_missing()
        yield
    finally:
        end(cluster)
        for role in added:
            del cluster.roles[role.name]
        for kind in SHARED_OUT:
            for role in cluster.of(kind):
                role.environment = {k: v for k, v in role.environment.items() if k != PARTS}
        cluster.start_missing()


def end(cluster: Cluster) -> None:
    """End every process of `SHARED_OUT`: only then may the number of parts be another."""
    for kind in SHARED_OUT:
        for role in cluster.of(kind):
            role.end()


def parts_of(cluster: Cluster, role: ServiceProcess) -> Sequence[str]:
    """Return which parts *role* leads."""
    url = f"http://127.0.0.1:{cluster.admin_ports[role.name]}/readyz"
    told: Sequence[str] = httpx.get(url, timeout=10).json().get("parts", [])
    return told
