"""The clock of one process, kept in a file of its data folder.

Not on the cluster: there the offset is a row, and a clock that was moved to its end would be
of no more use to the tests that share it.
"""

from pathlib import Path

import httpx
import pytest

from cli.command import ran
from harness.served import cs, served
from system.embedded.test_clock import DAY, SandboxTime

pytestmark = pytest.mark.slow


def test_all_together_the_clock_moves_ten_years_at_most(tmp_path: Path) -> None:
    with served(tmp_path / "data") as service:
        clock = SandboxTime(service)
        for _ in range(10):
            clock.advance(366 * DAY)
        refused = httpx.post(clock.url, json={"advance": 600})

    assert refused.status_code == 400
    assert "at most 3660 days" in refused.json()["message"]


@pytest.mark.parametrize("command", [["serve", "--port=0", "--admin-port=0"], ["keys", "list"]])
def test_live_data_with_a_moved_clock_is_refused(tmp_path: Path, command: list[str]) -> None:
    cs("keys", "create", f"--data-dir={tmp_path}")
    (tmp_path / "clock").write_text("86400\n")
    refused = ran(*command, f"--data-dir={tmp_path}")

    assert refused.code == 1
    assert "moves the clock, which only a sandbox may; delete it" in refused.err
