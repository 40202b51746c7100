"""The report of the benchmarks is what its figures make of it, and says what is missing."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture(scope="module")
def report() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_report", BENCH / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(BENCH))  # as for a program there
        spec.loader.exec_module(module)
    return module


def test_the_report_is_written_from_its_figures(report: ModuleType) -> None:
    kept = json.loads((BENCH / "report.json").read_text())

    assert (BENCH / "report.md").read_text() == report.report(kept), "bench/report.py --write"


def test_every_part_is_a_program_here_and_all_of_them_end_in_time(report: ModuleType) -> None:
    missing = [
        part.words[0] for part in report.PARTS.values() if not (BENCH / part.words[0]).exists()
    ]

    assert missing == []
    assert sum(part.limit_s for part in report.PARTS.values()) <= 25 * 60


def test_what_could_not_be_measured_is_said(report: ModuleType) -> None:
    told = report.report({"thin": {"why": "took longer than 1 s"}})

    assert "Nothing: took longer than 1 s." in told
    assert told.count("Nothing: not measured yet.") == len(report.PARTS) - 1


def test_goals_are_held_against_what_was_measured(report: ModuleType) -> None:
    def path(ratio: float) -> str:
        found = {"total_ms": [1, 1, 1], "path_ms": [1, 1, 1], "ratio": [ratio, 1, 2]}
        run = {"found": found, "at": "now", "took_s": 1, "load_1m": 0.1, "cores": 2}
        told: str = report.report({"path": run})
        return next(line for line in told.splitlines() if "longest chain it waits" in line)

    assert path(1.15).endswith("| 1.15 × | ≤ 1.15 × | yes |")
    assert path(1.16).endswith("| 1.16 × | ≤ 1.15 × | **no** |")
    empty = report.report({})
    assert empty.count("| not measured |") == empty.count("| – |") == 10
