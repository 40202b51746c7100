"""The stages of `examples/` do the work of ours, and speak only Kafka."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import NamedTuple

import pytest

from harness.servers.missing import Missing
from harness.service_process import STOP_S
from plugins.test_stage_of_another_make import is_ranked_by_weights
from system.cluster.clustered import Clustered

ROOT = Path(__file__).parents[2]
NODE_EXAMPLE = ROOT / "examples" / "stage-node"
#: Settings that the examples read; nothing else of the service is theirs.
ITS_SETTINGS = ("CS_KAFKA", "CS_KAFKA_PREFIX")


class Example(NamedTuple):
    """How one example is started, and where."""

    folder: Path
    command: Sequence[str | Path]


def python_example() -> Example:
    return Example(ROOT / "examples" / "stage-python", [sys.executable, "stage.py"])


def node_example(folder: Path) -> Example:
    """Return the one in Node.js, in *folder* with its packages.

    Raises:
        Missing: Node.js or the packages cannot be had here.
    """
    node_tools = run_path(str(ROOT / "dev" / "node_tools.py"))
    try:
        node = node_tools["found_node"]()
        packages = node_tools["installed"](node, NODE_EXAMPLE)
    except node_tools["Unavailable"] as error:
        raise Missing(str(error)) from error
    shutil.copytree(NODE_EXAMPLE, folder)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    start = json.loads((folder / "package.json").read_bytes())["scripts"]["start"]
    return Example(folder, [node / "bin" / "node", *start.split()[1:]])


class Running:
    """An example that runs, and what it has printed."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.printed: list[str] = []

    def wait_for(self, partitions: int) -> None:
        """Return once it says that it has so many partitions."""
        assert self._process.stderr is not None
        while f" runs, with {partitions} partitions" not in "".join(self.printed[-1:]):
            line = self._process.stderr.readline()
            assert line, f"it has ended: {self.printed}"
            self.printed.append(line)

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            rest = self._process.communicate(timeout=STOP_S)[1]
            self.printed += rest.splitlines(keepends=True)
        assert self._process.returncode == 0, self.printed


@contextmanager
def started(example: Example, settings: Mapping[str, str]) -> Iterator[Running]:
    """Run *example* until left, or until it is ended."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    with subprocess.Popen(
        example.command,
        cwd=example.folder,
        env={**kept, **settings},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        running = Running(process)
        try:
            yield running
            running.end()
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.slow
def test_each_does_the_work_of_ours_on_kafka(clustered: Clustered, tmp_path: Path) -> None:
    """The one in Python alone, the two side by side, and the one in Node.js alone."""
    cluster = clustered.cluster
    workers = cluster.of("stage-ranking")
    settings = workers[0].environment
    given = {name: settings[name] for name in ITS_SETTINGS if name in settings}
    for worker in workers:
        worker.end()
    try:
        with (
            clustered.client(clustered.new_key()) as client,
            started(python_example(), given) as python,
        ):
            python.wait_for(12)
            by_python = client.post("/contacts", json={"brand": "Veltrana", "wait": True})
            with started(node_example(tmp_path / "node"), given) as node:
                node.wait_for(6)
                python.wait_for(6)
                python.end()
                node.wait_for(12)
                asked = {"domain": "veltrana.test", "wait": True}
                by_node = client.post("/contacts", json=asked)
    finally:
        cluster.start_missing()

    for answer in (by_python.json(), by_node.json()):
        assert is_ranked_by_weights(answer), answer
        assert answer["cached"] is False
    printed = "".join(python.printed + node.printed)
    assert not re.search("Traceback|Crash|bug in", printed), printed


@pytest.mark.slow
def test_the_tests_of_the_one_in_node_pass(tmp_path: Path) -> None:
    example = node_example(tmp_path / "node")

    run = subprocess.run(
        [example.command[0], "--test"],
        cwd=example.folder,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stdout
    assert "pass 2" in run.stdout


def test_the_packages_of_the_one_in_node_are_pinned_by_no_registrys_address() -> None:
    named = json.loads((NODE_EXAMPLE / "package.json").read_bytes())["dependencies"]
    lock = (NODE_EXAMPLE / "package-lock.json").read_text()
    packages = json.loads(lock)["packages"]

    assert packages[""]["dependencies"] == named
    locked = {name: package for name, package in packages.items() if name}
    assert {name.removeprefix("node_modules/") for name in locked} == named.keys()
    assert all("integrity" in package for package in locked.values())
    assert {package["license"] for package in locked.values()} == {"MIT"}
    assert "://" not in lock
