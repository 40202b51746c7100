"""The whole service over several processes: a search through every one of them."""

import time
from collections.abc import Iterator

import httpx
import pytest

from deploy.watched import ACCIDENTS, figures_without_values, run_every_query
from system.cluster.cluster import Cluster, running_cluster

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster() as cluster:
        yield cluster


def test_a_search_goes_through_every_role(cluster: Cluster) -> None:
    key = cluster.new_key()["key"]

    with httpx.Client(
        base_url=cluster.urls[0], headers={"Authorization": f"Bearer {key}"}, timeout=100
    ) as http:
        began = time.monotonic()
        found = http.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        again = http.get(f"/searches/{found['id']}").json()

    assert found["status"] == "done", found
    assert len(found["contacts"]) == 4
    assert again == found
    assert time.monotonic() - began < 60


def test_every_query_of_alerts_and_dashboard_runs_on_all_roles(cluster: Cluster) -> None:
    """After the search of the test before: what it did is shown by those who did it."""
    targets = [f"127.0.0.1:{port}" for port in cluster.admin_ports.values()]

    missing = figures_without_values(targets)
    run_every_query(targets, missing)

    assert missing == ACCIDENTS
