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
