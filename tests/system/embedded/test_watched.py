"""Alerts and dashboard on a service in one process."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from deploy.watched import ACCIDENTS, figures_without_values, run_every_query
from harness.served import served

#: What only roles by themselves have.
OF_ROLES = {
    "cs_bus_consumers_rebuilt_total",
    "cs_bus_idle_seconds",
    "cs_bus_in_flight_messages",
    "cs_bus_partitions",
    "cs_bus_paused_partitions",
    "cs_bus_reachable",
    "cs_clock_off_seconds",
    "cs_lease_held",
}


@pytest.mark.slow
def test_every_query_runs_on_a_service_in_one_process(tmp_path: Path) -> None:
    with served(tmp_path / "data") as service:
        with service.client(service.new_key()) as client:
            found = client.post("/contacts", json={"brand": "Veltrana", "wait": True}).json()
        targets = [urlsplit(service.admin_url).netloc]
        missing = figures_without_values(targets)
        run_every_query(targets, missing)

    assert found["status"] == "done"
    assert missing == ACCIDENTS | OF_ROLES
