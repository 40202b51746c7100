"""The bounds are settings of `cs serve`."""

from pathlib import Path

import pytest

from harness.served import served

pytestmark = pytest.mark.slow


def test_bounds_from_the_environment_are_kept(tmp_path: Path) -> None:
    bounds = {"CS_HOLDS": "0", "CS_LOOKUPS_AT_ONCE": "1", "CS_CALLS_PER_KEY": "1"}
    with (
        served(tmp_path / "data", **bounds) as service,
        service.client(service.new_key()) as client,
    ):
        held = client.post("/contacts", json={"brand": "Miruvane", "wait": True})
        refused = client.post("/contacts", json={"brand": "Corvelune"})

    assert held.status_code == 202, "no call is held"
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "at_capacity")
