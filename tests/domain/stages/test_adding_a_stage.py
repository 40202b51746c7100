"""docs/adding-a-stage.md does what it says: its example is a stage of a copy of the sources."""

import json
import re
from pathlib import Path

import pytest

from domain.recipe import changes, copy_sources, run_in

CHANGES = changes("adding-a-stage.md")
#: Written from the others; its bytes are held by `bus.asyncapi.test_document`.
WRITTEN = "src/cs/bus/asyncapi.json"
#: What has to be remembered; everything after it is named.
REMEMBERED = {
    "src/cs/domain/stages/work.py",
    "src/cs/domain/brand/events.py",
    "src/cs/domain/stages/table.py",
}
NAMED = {
    "src/cs/domain/lookup/rules.py",
    "src/cs/domain/lookup/state.py",
    "src/cs/assembly/stages.py",
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a folder with the sources and tests as they are."""
    copy_sources(tmp_path)
    return tmp_path


def apply(copy: Path, paths: set[str]) -> None:
    for change in CHANGES:
        if change.path in paths:
            change.apply(copy)


def test_a_stage_touches_at_most_eight_files() -> None:
    touched = {change.path for change in CHANGES} | {WRITTEN}

    assert len(touched) <= 8
    assert touched > REMEMBERED | NAMED
    assert all(path.startswith("src/") for path in touched)


@pytest.mark.slow
def test_a_search_goes_through_the_stage(copy: Path) -> None:
    for change in CHANGES:
        change.apply(copy)

    ran = run_in(copy, "-m", "domain.stages.five_stages")

    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    assert (found["status"], found["names"]) == ("done", ["Ada Kern"])
    assert found["topics"].count("brand.stage-issued.v1") == 5
    assert "brand.departures-noted.v1" in found["topics"]


@pytest.mark.slow
def test_a_name_without_its_row_is_named_by_one_test(copy: Path) -> None:
    apply(copy, REMEMBERED - {"src/cs/domain/stages/table.py"})

    ran = run_in(copy, "-m", "pytest", "-q", "tests/domain/stages/test_table.py")

    assert ran.returncode == 1
    assert "test_every_name_has_one_row" in ran.stdout


@pytest.mark.slow
def test_mypy_names_every_other_place(copy: Path) -> None:
    apply(copy, REMEMBERED)
    named = _errors(copy)
    apply(copy, {change.path for change in CHANGES} - REMEMBERED)

    assert named == NAMED
    assert _errors(copy) == set()


def _errors(copy: Path) -> set[str]:
    """Return the files that mypy names."""
    ran = run_in(copy, "-m", "mypy", "src/cs")
    assert ran.returncode in {0, 1}, ran.stderr
    return set(re.findall(r"^(\S+\.py):\d+: error:", ran.stdout, re.MULTILINE))
