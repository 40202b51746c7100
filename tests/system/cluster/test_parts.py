"""Driving and relaying in two parts: one dies, another carries on, and the answers are those
of one part."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.runtime.part import Part
from harness.service_process import NotRunning
from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.parted import PARTS, SHARED_OUT, in_parts, parts_of
from system.cluster.standing_by import seconds_until

pytestmark = pytest.mark.slow

#: Some of each part; the mail servers of the last put everybody off for two seconds, long
#: enough for somebody to die in.
BRANDS = ("Tarnwick & Rose", "Ivorene", "Vantorre", "Veltrana", "Kivandra", "Miruvane")
OF_A_KEY = 2
#: Four seconds of the lease, and of being counted, and half a second between two tries.
TAKEN_OVER_S = 6.0


@pytest.fixture(scope="module")
def halves(two_nodes: Cluster) -> Iterator[Mapping[str, Any]]:
    """Run in two parts; yield what one part answered before."""
    before = found(Clustered.fresh(two_nodes))
    with in_parts(two_nodes, 2):
        yield before


def found(service: Clustered, meanwhile: Sequence[str] = ()) -> Mapping[str, Any]:
    """Return what every brand's search ends with; roles of *meanwhile* die while they run."""

    def search(brand: str, key: dict[str, Any]) -> Any:
        with service.client(key) as client:
            answer = client.post("/contacts", json={"brand": brand, "wait": True})
            record = answer.raise_for_status().json()
            while record["status"] == "running":  # held for as long as a call may be
                answer = client.get(f"/searches/{record['id']}")
                record = answer.raise_for_status().json()
            read = client.get(f"/searches/{record['id']}").raise_for_status().json()
        assert read["contacts"] == record["contacts"]
        shown = {(each["full_name"], each["email"]) for each in record["contacts"]}
        return record["status"], record["charged"], sorted(shown, key=str)

    keys = [service.new_key() for _ in BRANDS[::OF_A_KEY]]
    with ThreadPoolExecutor(len(BRANDS)) as threads:
        calls = [
            threads.submit(search, brand, keys[n // OF_A_KEY]) for n, brand in enumerate(BRANDS)
        ]
        if meanwhile:
            admitted = "key.search-admitted.v1"
            seconds_until(lambda: service.stored_topics().count(admitted) == len(BRANDS))
        for name in meanwhile:
            service.cluster.roles[name].kill()
        return {brand: call.result() for brand, call in zip(BRANDS, calls, strict=True)}


def test_there_are_brands_of_both_parts() -> None:
    streams = [brand_stream(Query(brand)) for brand in BRANDS]

    assert {Part(1, 2).has(stream) for stream in streams} == {True, False}


def test_one_of_two_dies_the_other_does_both_parts_and_every_search_ends_as_before(
    halves: Mapping[str, Any], two_nodes: Cluster
) -> None:
    service = Clustered.fresh(two_nodes)
    pairs = {kind: two_nodes.of(kind) for kind in SHARED_OUT}
    one_each(two_nodes)

    answers = found(service, [pair[0].name for pair in pairs.values()])

    assert answers == halves
    began = time.monotonic()
    left = [pair[1] for pair in pairs.values()]
    seconds_until(lambda: all(parts_of(two_nodes, role) == ["1/2", "2/2"] for role in left))
    assert time.monotonic() - began < TAKEN_OVER_S
    assert service.stored_topics().count("key.search-settled.v1") == len(BRANDS)
    two_nodes.command("log", "verify")
    two_nodes.start_missing()
    one_each(two_nodes)


def one_each(cluster: Cluster) -> None:
    """Return once each process leads one part of its role."""

    def are_shared_out(kind: str) -> bool:
        led = [parts_of(cluster, role) for role in cluster.of(kind)]
        return sorted(led, key=str) == [["1/2"], ["2/2"]]

    seconds_until(lambda: all(map(are_shared_out, SHARED_OUT)))


def test_a_role_that_would_share_out_in_another_way_is_refused(
    halves: Mapping[str, Any], two_nodes: Cluster
) -> None:
    del halves
    other = two_nodes.add("relay", **{PARTS: "3"})
    try:
        other.start()
        with pytest.raises(NotRunning, match=r"parts: 3 here, but roles .* have 2 \("):
            other.wait_ready()
    finally:
        other.end()
        del two_nodes.roles[other.name]
