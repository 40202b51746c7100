"""The whole service over several processes: a search through every one of them."""

import time
from collections.abc import Iterator

import httpx
import pytest

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
