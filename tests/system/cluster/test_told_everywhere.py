"""What the operator says, every node goes by within a second."""

from typing import Any

import httpx
import pytest

from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.standing_by import seconds_until

pytestmark = pytest.mark.slow

#: From the moment the command has ended.
SOON_S = 1.0


def call(url: str, key: dict[str, Any], method: str = "GET", path: str = "/usage") -> int:
    headers = {"Authorization": f"Bearer {key['key']}"}
    body = {"brand": "Veltrana"} if method == "POST" else None
    return httpx.request(method, url + path, headers=headers, json=body, timeout=30).status_code


def search(url: str, key: dict[str, Any]) -> int:
    return call(url, key, "POST", "/contacts")


def test_a_new_key_opens_every_node_at_once(clustered: Clustered) -> None:
    for url in clustered.cluster.urls:
        assert call(url, clustered.new_key()) == 200


def test_a_revoked_key_is_shut_out_of_every_node(clustered: Clustered) -> None:
    key, urls = clustered.new_key(), clustered.cluster.urls
    assert [call(url, key) for url in urls] == [200, 200]

    clustered.command("keys", "revoke", key["id"])

    took = seconds_until(lambda: [call(url, key) for url in urls] == [401, 401])
    assert took < SOON_S


def test_a_pause_is_seen_by_every_node_and_its_end(clustered: Clustered) -> None:
    key, urls = clustered.new_key(), clustered.cluster.urls

    clustered.command("pause")
    try:
        paused = [search(url, key) for url in urls]
        read = [call(url, key) for url in urls]
    finally:
        clustered.command("resume")

    assert (paused, read) == ([503, 503], [200, 200])
    assert {search(url, key) for url in urls} <= {200, 202}


def test_quota_granted_counts_on_every_node_at_once(clustered: Clustered) -> None:
    key, urls = clustered.new_key(quota=0), clustered.cluster.urls
    assert [search(url, key) for url in urls] == [402, 402]

    clustered.command("keys", "grant", key["id"], "5")

    assert {search(url, key) for url in urls} <= {200, 202}


def test_keys_come_and_go_while_the_views_stand_still(
    clustered: Clustered, two_nodes: Cluster
) -> None:
    old, urls = clustered.new_key(), two_nodes.urls
    assert [call(url, old) for url in urls] == [200, 200]
    (project,) = two_nodes.of("project")

    project.suspend()
    try:
        clustered.command("keys", "revoke", old["id"])
        shut = seconds_until(lambda: [call(url, old) for url in urls] == [401, 401])
        new = clustered.new_key()
        opened = seconds_until(lambda: [call(url, new) for url in urls] == [200, 200])
    finally:
        project.resume()

    assert shut < SOON_S
    assert opened < 4.0, "each read waits for the views for half a second, then does without"
