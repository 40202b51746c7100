"""`python -m system.cluster`, which `make cluster` and `make cluster-demo` run."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.servers.kafka_jars import kafka_jars
from harness.servers.processes import started_with
from harness.servers.programs import find_binaries, find_java
from system.cluster.__main__ import BRAND

ROOT = Path(__file__).parents[3]
#: With which one machine's two cores and three other tests do.
PATIENCE_S = 170.0

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _what_it_runs_on() -> None:
    find_binaries()
    find_java()
    kafka_jars()


@contextmanager
def made(folder: Path, *words: str, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Run the command as in a terminal of its own; what is left of it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "system.cluster", *words],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={k: v for k, v in os.environ.items() if not k.startswith("CS_TEST_")}
        | {
            "TMPDIR": str(folder),
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTHONUNBUFFERED": "1",
            **environment,
        },
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A temporary folder of this test's own, short enough for a unix socket in it."""
    with tempfile.TemporaryDirectory(prefix="cs-try-") as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def running(folder: Path) -> set[int]:
    """Return the ids of processes that were started with *folder* for temporary files."""
    return set(started_with("TMPDIR", str(folder)))


def until(process: "subprocess.Popen[str]", wanted: str) -> list[str]:
    """Return the lines up to the first that *wanted* is found in."""
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        lines.append(line)
        if re.search(wanted, line):
            return lines
    raise AssertionError(f"it ended with {process.wait()}:\n{''.join(lines)}")


def test_a_cluster_answers_starts_a_dead_role_again_and_leaves_nothing(
    short_folder: Path,
) -> None:
    with made(short_folder, "run", "--brokers=1", "--each=1", "--json") as command:
        addresses: dict[str, Any] = json.loads(until(command, r"^\{")[-1])
        relay = addresses["pids"]["relay-1"]
        until(command, "Ctrl-C ends all of it")
        found = httpx.post(
            f"{addresses['urls'][0]}/contacts",
            headers={"Authorization": f"Bearer {addresses['key']}"},
            json={"brand": BRAND, "wait": True},
            timeout=100,
        ).json()
        os.kill(relay, signal.SIGKILL)
        until(command, r"relay-1 has ended \(SIGKILL.*it runs again as \d+$")
        there = running(short_folder)
        os.killpg(command.pid, signal.SIGINT)
        left = command.communicate(timeout=60)[0]

    assert (found["status"], len(found["contacts"])) == ("done", 4)
    assert len(there) > 10, "the roles, the world and the servers"
    assert "nothing is left behind" in left
    assert running(short_folder) == set()
    assert list(short_folder.iterdir()) == []


def test_a_search_outlives_its_worker_and_all_of_it_ends_by_itself(short_folder: Path) -> None:
    with made(short_folder, "demo", "--brokers=1") as command:
        out = command.communicate(timeout=PATIENCE_S)[0]

    assert command.returncode == 0, out
    killed = re.search(r"SIGKILL to (\S+), with (\d) of 4 mailboxes verified", out)
    assert killed is not None, out
    assert int(killed[2]) < 4, "it was killed in the middle of its work"
    assert re.search(r"has it in hand after \d", out)
    assert f"{killed[1]} has ended (SIGKILL" in out
    assert len(re.findall(r"  \S+@lentavere\.test$", out, re.MULTILINE)) == 4, out
    assert running(short_folder) == set()
    assert list(short_folder.iterdir()) == []
