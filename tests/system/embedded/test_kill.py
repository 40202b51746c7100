"""The service dies in the middle of a search; the next one ends it, charged once.

On the cluster every role of it dies at once, and is started again.
"""

import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from system.cluster.fixtures import Service

pytestmark = pytest.mark.slow

#: Greylisted for two seconds: long enough to be killed in, short enough to wait for.
BRAND = "Miruvane"


def until(condition: Callable[[], bool], timeout_s: float = 60) -> None:
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, "it did not come about in time"


def read_ended(service: Service, client: httpx.Client, search: str) -> dict[str, Any]:
    until(lambda: "key.search-settled.v1" in service.stored_topics())
    record: dict[str, Any] = client.get(f"/searches/{search}").raise_for_status().json()
    return record


@pytest.mark.parametrize(
    "when",
    ["key.search-admitted.v1", "brand.resolved.v1", "brand.attempt-failed.v1"],
)
def test_a_search_survives_a_kill(service: Service, when: str) -> None:
    key = service.new_key()
    with service.client(key) as client:
        accepted = client.post("/contacts", json={"brand": BRAND})
        assert accepted.status_code == 202
        until(lambda: when in service.stored_topics())
        service.kill()
    assert "brand.lookup-finished.v1" not in service.stored_topics()

    service.start()
    with service.client(key) as client:
        record = read_ended(service, client, accepted.json()["id"])
        usage = client.get("/usage").json()

    assert record["status"] == "done"
    assert [c["email"] for c in record["contacts"] if c["email"]] == [
        "aroha.tamihana@miruvane.example"
    ]
    assert record["charged"] is True
    assert usage["used"] == 1
    assert service.stored_topics().count("key.search-settled.v1") == 1


def test_a_search_that_finished_unsettled_is_settled_at_the_start(service: Service) -> None:
    key = service.new_key()
    with service.client(key) as client:
        search = client.post("/contacts", json={"brand": BRAND}).json()["id"]
        until(lambda: "brand.lookup-finished.v1" in service.stored_topics())
        service.kill()

    service.start()
    with service.client(key) as client:
        record = read_ended(service, client, search)

    assert (record["status"], record["charged"]) == ("done", True)
    assert service.stored_topics().count("key.search-settled.v1") == 1
