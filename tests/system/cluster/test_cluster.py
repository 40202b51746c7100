"""The whole service over several processes: a search through every one of them."""

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cs.domain.stages.table import OWN_STAGES
from harness.otlp import Receiver, parents_of, receiving
from system.cluster.cluster import Cluster, running_cluster
from system.whole_trace import WHOLE_TRACE, personal_in

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def cluster(receiver: Receiver) -> Iterator[Cluster]:
    with running_cluster(kinds=()) as cluster:
        for environment in (cluster.environment, cluster.stage_environment):
            environment["CS_TRACES_TO"] = receiver.url
        cluster.start()
        yield cluster


@pytest.fixture(scope="module")
def found(cluster: Cluster) -> dict[str, Any]:
    """A search through all roles, as it was answered."""
    key = cluster.new_key()["key"]
    with httpx.Client(
        base_url=cluster.urls[0], headers={"Authorization": f"Bearer {key}"}, timeout=100
    ) as http:
        began = time.monotonic()
        found: dict[str, Any] = http.post(
            "/contacts", json={"brand": "Veltrana", "wait": True}
        ).json()
        again = http.get(f"/searches/{found['id']}").json()

    assert again == found
    assert time.monotonic() - began < 60
    return found


def test_a_search_goes_through_every_role_and_is_one_trace(
    found: dict[str, Any], receiver: Receiver
) -> None:
    assert found["status"] == "done", found
    assert len(found["contacts"]) == 4
    spans = receiver.wait_for(*WHOLE_TRACE)
    assert parents_of(spans) == WHOLE_TRACE
    assert personal_in(spans, found) == []
    assert {span.role for span in spans} == {
        *("api", "relay", "process-manager"),
        *(f"stage {name}" for name in OWN_STAGES),
    }
