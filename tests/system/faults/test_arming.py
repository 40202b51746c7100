"""Fail points act only where they are armed, and only in a sandbox."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cli.command import ran
from cs.runtime import failpoints

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("relay.between=kill", "there is no point 'relay.between'; there are admission.bef"),
        ("relay.after-publish", "'relay.after-publish' is not like relay.after-publish=kill@3"),
        ("relay.after-publish=sleep", "is not like"),
        ("relay.after-publish=kill@0", "is not like"),
        ("relay.after-publish=kill,", "'' is not like"),
    ],
)
def test_what_cannot_be_armed_is_told(text: str, told: str) -> None:
    with pytest.raises(failpoints.BadFailPoint) as refused:
        failpoints.parse(text)

    assert told in str(refused.value)


def test_the_process_dies_at_the_visit_that_is_named() -> None:
    code = (
        "from cs.runtime import failpoints\n"
        "failpoints.arm('log.after-commit=kill@2')\n"
        "for point in ('log.after-commit', 'log.before-commit', 'log.after-commit'):\n"
        "    print(point, flush=True)\n"
        "    failpoints.reach(point)\n"
        "print('alive')\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )

    assert ended.returncode == -signal.SIGKILL
    assert ended.stdout.split() == ["log.after-commit", "log.before-commit", "log.after-commit"]
    assert ended.stderr == "failpoint log.after-commit hit\n"


def test_a_live_service_refuses_to_be_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    told = ran("serve", f"--data-dir={folder}", CS_FAILPOINTS="relay.after-publish=kill").told(
        2
    )

    assert "CS_FAILPOINTS" in told
    assert "--sandbox" in told
    assert not folder.exists()


def test_a_sandbox_service_names_what_it_cannot_arm(tmp_path: Path) -> None:
    told = ran("serve", "--sandbox", f"--data-dir={tmp_path}", CS_FAILPOINTS="x=kill").told(2)

    assert "CS_FAILPOINTS: there is no point 'x'" in told
