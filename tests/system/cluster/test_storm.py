"""A short storm over a cluster: `make faults-cluster` runs a long one, over three brokers."""

from pathlib import Path

import pytest

from system.cluster.storm import Plan, storm

SHORT = Plan(
    seed=5,
    kills=6,
    brokers=1,
    each=1,
    points=("relay.after-publish", "stage.after-result", "outcome.after-append"),
    servers=(
        *("kill-broker", "restart-postgres", "suspend-leader relay", "suspend-leader views"),
        "wipe-kafka",
    ),
    every_s=4.0,
    suspended_s=6.0,
    keys=24,
    at_once=6,
    pause_s=1.0,
    brands=48,
    most_s=120.0,
)


@pytest.mark.slow
@pytest.mark.begun_first
@pytest.mark.timeout(600)
def test_a_storm_over_a_cluster_loses_nothing_and_charges_no_key_twice(tmp_path: Path) -> None:
    report = storm(SHORT, tmp_path, lambda _: None)

    assert report.faults == [], (report.facts["otherwise"], report.facts["fell"])
    # A storm in which nothing happened would prove nothing.
    assert sum(report.facts["kills"].values()) >= SHORT.kills
    assert list(report.facts["servers"]) == list(SHORT.servers)
    assert report.facts["charged"] >= 3
