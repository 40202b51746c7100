"""A short storm: `make faults` runs a longer one."""

from pathlib import Path

import pytest

from system.faults.storm import Plan, storm


@pytest.mark.slow
async def test_a_storm_of_kills_loses_nothing_and_charges_no_key_twice(tmp_path: Path) -> None:
    plan = Plan(seed=7, kills=10, keys=6, brands=32, most_s=50)

    report = await storm(plan, tmp_path, lambda _: None)

    assert report.faults == [], report.facts["otherwise"]
    # A storm in which nothing happened would prove nothing.
    assert report.facts["kills"] >= 10
    assert report.facts["cut"] >= 5
    assert report.facts["charged"] >= 5
