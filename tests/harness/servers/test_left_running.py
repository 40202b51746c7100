"""A run that leaves a process behind names it, ends it and is red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.servers.processes import command_line

pytestmark = pytest.mark.slow

TESTS = Path(__file__).parents[2]
#: Writes the id of a process that waits for what nobody will say.
LEAVES = """
import pathlib, subprocess, sys
def test_it_forgets_a_process():
    waits = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"],
                             start_new_session=True)
    pathlib.Path({id!r}).write_text(str(waits.pid))
    waits.returncode = 0  # or Python would say so itself
"""
WAITS = """
import subprocess, sys
def test_it_ends_what_it_starts():
    with subprocess.Popen([sys.executable, "-c", "pass"]): pass
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_a_process_that_outlives_the_run_is_named_and_killed(
    tmp_path: Path, workers: list[str]
) -> None:
    noted = tmp_path / "id"

    ran = run_of(tmp_path, LEAVES.format(id=str(noted)), *workers)

    assert ran.returncode == pytest.ExitCode.TESTS_FAILED, ran.stdout
    assert "1 passed" in ran.stdout
    assert f"LEFT RUNNING by the tests, killed now: {noted.read_text()} " in ran.stdout
    assert not command_line(int(noted.read_text()))


def test_a_run_that_ends_what_it_starts_is_green(tmp_path: Path) -> None:
    ran = run_of(tmp_path, WAITS)

    assert ran.returncode == 0, ran.stdout
    assert "LEFT RUNNING" not in ran.stdout


def run_of(folder: Path, test: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run *test* as a run of its own that waits half a second for what is left."""
    (folder / "test_it.py").write_text(test)
    (folder / "conftest.py").write_text(
        "from harness.servers import left_running as p; p.TO_END_S = 0.5"
    )
    plugged = (
        "-p",
        "harness.servers.left_running",
        "-p",
        "no:schemathesis",
        "-p",
        "no:cacheprovider",
    )
    return subprocess.run(
        [sys.executable, "-m", "pytest", "--rootdir", folder, *plugged, *words, folder],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            k: v for k, v in os.environ.items() if not k.startswith(("TEST_RUN_OF", "PYTEST_"))
        }
        | {"PYTHONPATH": str(TESTS)},
    )
