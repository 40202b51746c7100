"""Roles that are started while Kafka is away, or that it turns away."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from harness.servers.ports import free_ports
from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered

pytestmark = pytest.mark.slow

#: One of each way in which a role uses Kafka.
USES = ("relay", "process-manager", "stage-verification")
#: How long a role that waits may take to leave; on a machine at rest it takes half a second.
LEAVES_S = 4.0
BRAND = "Miruvane"


@contextmanager
def started(cluster: Cluster, *kinds: str, **more: str) -> Iterator[list[ServiceProcess]]:
    """Run one more role of each of *kinds*, with *more* in its environment."""
    roles = [cluster.add(kind, **more) for kind in kinds]
    try:
        for role in roles:
            role.start()
        yield roles
    finally:
        for role in roles:
            role.kill()
            role.log.unlink()
            del cluster.roles[role.name], cluster.admin_ports[role.name]


@contextmanager
def silent() -> Iterator[str]:
    """Listen, let anybody connect, and say nothing: the address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        host, port = listening.getsockname()
        yield f"{host}:{port}"


@pytest.fixture(params=["nobody", "silence"])
def nowhere(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where Kafka is not: nobody listens there, or somebody who never answers."""
    if request.param == "nobody":
        yield f"127.0.0.1:{free_ports(1)[0]}"
        return
    with silent() as address:
        yield address


def readyz(cluster: Cluster, role: ServiceProcess) -> httpx.Response:
    url = f"http://127.0.0.1:{cluster.admin_ports[role.name]}/readyz"
    return httpx.get(url, timeout=30, trust_env=False)


def lines_of(role: ServiceProcess, event: str) -> list[dict[str, Any]]:
    """Return the lines of that event in the log of *role*."""
    said = role.log.read_text().splitlines()
    lines = [json.loads(line) for line in said if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


def leaving_takes(role: ServiceProcess) -> float:
    """Return how many seconds pass from SIGTERM to a good end."""
    told_at = time.monotonic()
    assert role.stop() == 0
    return time.monotonic() - told_at


def test_roles_wait_for_kafka_say_so_and_leave_when_told_to(
    two_nodes: Cluster, nowhere: str
) -> None:
    with started(two_nodes, *USES, CS_KAFKA=nowhere) as roles:
        for role in roles:
            role.wait_ready()
        answers = [readyz(two_nodes, role) for role in roles]
        took_s = [leaving_takes(role) for role in roles]
        away = [len(lines_of(role, "kafka_away")) for role in roles]

    assert {answer.status_code for answer in answers} == {httpx.codes.SERVICE_UNAVAILABLE}
    told = [answer.json()["bus"] for answer in answers]
    assert [bus["reachable"] for bus in told] == [False] * len(USES)
    assert {f"Kafka at {nowhere} does not answer" in bus["why"] for bus in told} == {True}
    assert max(took_s) < LEAVES_S
    assert max(away) <= 3  # one in ten seconds


def test_roles_started_while_kafka_is_away_do_their_work_when_it_comes(
    clustered: Clustered,
) -> None:
    cluster = clustered.cluster
    roles = [role for kind in USES for role in cluster.of(kind)]
    for role in roles:
        role.end()
    cluster.kafka.stop()
    try:
        cluster.start_missing()
        waiting = [readyz(cluster, role).json()["bus"]["why"] for role in roles]
        told = [lines_of(role, "kafka_away")[-1]["why"] for role in roles]
        with clustered.client(clustered.new_key()) as client:
            taken = client.post("/contacts", json={"brand": BRAND, "wait": False})
            cluster.kafka.start()
            done = client.post("/contacts", json={"brand": BRAND, "wait": True})
    finally:
        if not cluster.kafka.brokers[0].listens:
            cluster.kafka.start()
        cluster.start_missing()

    assert all("does not answer" in why for why in waiting)
    assert told == waiting
    assert taken.status_code == httpx.codes.ACCEPTED
    assert (done.status_code, done.json()["status"]) == (httpx.codes.OK, "done")
    assert [role.name for role in roles if not role.runs] == []
