"""The stages of `examples/` do the work of ours, and speak only Kafka."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from runpy import run_path
from typing import Any, NamedTuple

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


@contextmanager
def started(example: Example, settings: Mapping[str, str]) -> Iterator[list[str]]:
    """Run *example* until left; yield once it has its partitions what it has printed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CS_")}
    printed: list[str] = []
    with subprocess.Popen(
        example.command,
        cwd=example.folder,
        env={**kept, **settings},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        try:
            while not printed or " runs, with 12 partitions" not in printed[-1]:
                line = process.stderr.readline()
                assert line, f"it has ended: {printed}"
                printed.append(line)
            yield printed
        finally:
            process.terminate()
            try:
                printed += process.communicate(timeout=STOP_S)[1].splitlines(keepends=True)
            except subprocess.TimeoutExpired:
                process.kill()
    assert process.returncode == 0, printed


@pytest.mark.slow
def test_each_does_the_work_of_ours_on_kafka(clustered: Clustered, tmp_path: Path) -> None:
    cluster = clustered.cluster
    workers = cluster.of("stage-ranking")
    settings = workers[0].environment
    given = {name: settings[name] for name in ITS_SETTINGS if name in settings}
    found: list[dict[str, Any]] = []
    for worker in workers:
        worker.end()
    try:
        with clustered.client(clustered.new_key()) as client:
            for example, brand in (
                (python_example(), "Veltrana"),
                (node_example(tmp_path / "node"), "veltrana.test"),
            ):
                with started(example, given) as printed:
                    asked = {"brand" if "." not in brand else "domain": brand, "wait": True}
                    found.append(client.post("/contacts", json=asked).json())
                assert [line for line in printed if " runs, with " not in line] == []
    finally:
        cluster.start_missing()

    assert [each["cached"] for each in found] == [False, False]
    assert [is_ranked_by_weights(each) for each in found] == [True, True]


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
