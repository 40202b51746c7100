"""Roles that are started while Kafka is away."""

import json
from typing import Any

import httpx
import pytest

from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered

pytestmark = pytest.mark.slow

#: One of each way in which a role uses Kafka.
USES = ("relay", "process-manager", "stage-verification")
BRAND = "Miruvane"


def readyz(cluster: Cluster, role: ServiceProcess) -> httpx.Response:
    url = f"http://127.0.0.1:{cluster.admin_ports[role.name]}/readyz"
    return httpx.get(url, timeout=30, trust_env=False)


def lines_of(role: ServiceProcess, event: str) -> list[dict[str, Any]]:
    """Return the lines of that event in the log of *role*."""
    written = role.log.read_text().splitlines()
    lines = [json.loads(line) for line in written if line.startswith("{")]
    return [line for line in lines if line["event"] == event]


def test_roles_started_without_kafka_begin_work_once_it_runs(
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
        logged = [lines_of(role, "kafka_away")[-1]["why"] for role in roles]
        with clustered.client(clustered.new_key()) as client:
            taken = client.post("/contacts", json={"brand": BRAND, "wait": False})
            cluster.kafka.start()
            done = client.post("/contacts", json={"brand": BRAND, "wait": True})
    finally:
        if not cluster.kafka.brokers[0].listens:
            cluster.kafka.start()
        cluster.start_missing()

    assert all("does not answer" in why for why in waiting)
    assert logged == waiting
    assert taken.status_code == httpx.codes.ACCEPTED
    assert (done.status_code, done.json()["status"]) == (httpx.codes.OK, "done")
    assert [role.name for role in roles if not role.runs] == []
