"""Who hung for longer than its lease lasts writes nothing more, and nobody waited for it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from harness.service_process import ServiceProcess
from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.leases import given_up, written
from system.cluster.standing_by import seconds_until, standing_by

pytestmark = pytest.mark.slow

#: What each role leads, with the feed on, that a search needs.
LEADS = {"relay": {"relay", "feed"}, "process-manager": {"driver"}, "project": {"views"}}
#: A driver is not fenced: the versions of streams are, and what was decided is quiet.  Left is
#: what is known of a mail domain, if nobody led when that was found out.
MAY_BE_SAID = {"process-manager": {"mail-domain.learned.v1"}, "relay": set(), "project": set()}
#: Until another leads: four seconds of the lease, and half a second between two tries.
TAKEN_OVER_S = 5.0
#: Brand -> whose mailboxes are found; those of the first are greylisted for two seconds.
INTENDED = {
    "Miruvane": {"aroha.tamihana"},
    "Veltrana": {"amara.okafor", "priya.raman", "renee.dubois", "tomasz.zielinski"},
}


@contextmanager
def feeding(cluster: Cluster) -> Iterator[None]:
    """Let relays publish the feed of events too until left, those that are added as well."""
    (relay,) = cluster.of("relay")
    before, feed = relay.environment, {"CS_EVENTS_FEED": "true"}
    cluster.environment |= feed
    relay.end()
    relay.environment = {**before, **feed}
    try:
        cluster.start_missing()
        yield
    finally:
        del cluster.environment["CS_EVENTS_FEED"]
        relay.end()
        relay.environment = before
        cluster.start_missing()


@pytest.fixture(scope="module")
def pairs(two_nodes: Cluster) -> Iterator[Cluster]:
    with feeding(two_nodes), standing_by(two_nodes):
        yield two_nodes


@pytest.fixture(scope="module")
def key(pairs: Cluster) -> dict[str, Any]:
    return pairs.new_key()


@pytest.fixture
def service(pairs: Cluster) -> Clustered:
    return Clustered.fresh(pairs)


def search(service: Clustered, key: dict[str, Any], brand: str) -> dict[str, Any]:
    with service.client(key) as client:
        answer = client.post("/contacts", json={"brand": brand, "wait": True})
    assert answer.status_code == httpx.codes.OK
    record: dict[str, Any] = answer.json()
    return record


def is_as_intended(record: dict[str, Any], brand: str) -> None:
    assert (record["status"], record["charged"]) == ("done", True)
    found = [contact["email"] for contact in record["contacts"] if contact["email"]]
    assert {address.partition("@")[0] for address in found} == INTENDED[brand]


def leader_of_all(cluster: Cluster, kind: str, led: set[str]) -> ServiceProcess:
    """Return the process of *kind* that leads all of *led*."""
    found: list[ServiceProcess] = []

    def leads_all() -> bool:
        found[:] = [role for role in cluster.of(kind) if led <= written(cluster).led_by(role)]
        return bool(found)

    seconds_until(leads_all)
    return found[0]


@pytest.mark.parametrize(("kind", "led"), LEADS.items())
def test_a_leader_that_hung_is_fenced_when_it_goes_on(
    service: Clustered, key: dict[str, Any], kind: str, led: set[str]
) -> None:
    cluster = service.cluster
    first = leader_of_all(cluster, kind, led)
    (second,) = (role for role in cluster.of(kind) if role is not first)
    said = len(first.log.read_text())
    first.suspend()
    try:
        with ThreadPoolExecutor() as threads:
            calls = [threads.submit(search, service, key, brand) for brand in INTENDED]
            took = seconds_until(lambda: led <= written(cluster).led_by(second))
            records = [call.result() for call in calls]
        seconds_until(lambda: written(cluster).at_rest)
        # Whatever else it led, as retention, is another's by then too.
        seconds_until(lambda: not written(cluster).led_by(first))
        before, stored = written(cluster), service.stored_topics()
    finally:
        first.resume()
    seconds_until(lambda: given_up(first, said) >= led)

    after, more = written(cluster), service.stored_topics()[len(stored) :]
    assert (after.leases, after.epochs) == (before.leases, before.epochs)
    assert set(more) <= MAY_BE_SAID[kind]
    assert took < TAKEN_OVER_S
    for record, brand in zip(records, INTENDED, strict=True):
        is_as_intended(record, brand)
    assert service.stored_topics().count("key.search-settled.v1") == len(INTENDED)
    assert first.runs
