"""Who leads dies or hangs: another takes over, and what runs meanwhile ends as intended."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.standing_by import LED, leader, leads, seconds_until, standing_by

pytestmark = pytest.mark.slow

#: Greylisted for two seconds: long enough for somebody to die in.
BRAND = "Miruvane"
FOUND = ["aroha.tamihana@miruvane.example"]
#: Until another leads: four seconds of the lease, and half a second between two tries.
TAKEN_OVER_S = 5.0
HUNG_S = 15.0


@pytest.fixture(scope="module")
def pairs(two_nodes: Cluster) -> Iterator[Cluster]:
    with standing_by(two_nodes):
        yield two_nodes


@pytest.fixture
def service(pairs: Cluster) -> Clustered:
    return Clustered.fresh(pairs)


@contextmanager
def searching(service: Clustered) -> Iterator[Future[httpx.Response]]:
    """Yield a held call for `BRAND`, whose search has been admitted."""
    with service.client(service.new_key()) as client, ThreadPoolExecutor(1) as thread:
        body = {"brand": BRAND, "wait": True}
        call = thread.submit(client.post, "/contacts", json=body)
        seconds_until(lambda: "key.search-admitted.v1" in service.stored_topics())
        yield call


def is_as_intended(service: Clustered, answer: httpx.Response) -> None:
    record = answer.raise_for_status().json()
    assert (record["status"], record["charged"]) == ("done", True)
    assert [c["email"] for c in record["contacts"] if c["email"]] == FOUND
    assert record["usage"]["used"] == 1
    assert service.stored_topics().count("key.search-settled.v1") == 1


@pytest.mark.parametrize("kind", LED)
def test_another_leads_when_the_leader_is_killed(service: Clustered, kind: str) -> None:
    cluster = service.cluster
    first = leader(cluster, kind)
    (second,) = (role for role in cluster.of(kind) if role is not first)
    with searching(service) as call:
        first.kill()

        took = seconds_until(lambda: leads(cluster, second))
        is_as_intended(service, call.result())
    assert took < TAKEN_OVER_S


def test_leaders_that_hang_are_replaced_and_come_back_as_followers(service: Clustered) -> None:
    cluster = service.cluster
    first = {kind: leader(cluster, kind) for kind in LED}
    second = {
        kind: next(role for role in cluster.of(kind) if role is not first[kind]) for kind in LED
    }
    with searching(service) as call:
        began = time.monotonic()
        for role in first.values():
            role.suspend()
        try:
            took = seconds_until(lambda: all(leads(cluster, r) for r in second.values()))
            answer = call.result()
            seconds_until(lambda: time.monotonic() - began > HUNG_S)
        finally:
            for role in first.values():
                role.resume()
        seconds_until(lambda: not any(leads(cluster, role) for role in first.values()))

        assert all(leads(cluster, role) for role in second.values())
        is_as_intended(service, answer)
    assert took < TAKEN_OVER_S
    assert all(role.runs for role in first.values())
