"""How well headlines are read, on two labelled sets.

Only rows on which sensible people agree gate; `bench/roles.py` has the scoring rules.
``sample`` came with the labelling rules.  ``own`` was written in four rounds, each
labelled before the code saw it.  The first run over each round (186, 104, 51 and 44
uncontested rows) gave, for "eligible", precision 1.00, 1.00, 0.97, 1.00 and recall
0.97, 0.93, 1.00, 1.00; titles 0.97, 0.92, 0.94, 0.95.  That is how unseen headlines
fare.  The tables have seen all rows since: the thresholds here guard what is won.

``construction`` has what is hard to read, by construction (what is past, still to come, an
award, a vacancy; whom somebody reports to; what a firm sells) and by language, each row
labelled by what it is there for.  Some 1 % are read otherwise, on purpose: the rules for them
were longer than they are worth.
"""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cs.domain.roles.role import JobRole

DATA = Path(__file__).parents[1] / "data"
BENCH: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[3] / "bench" / "roles.py"))

load: Callable[[Path], list[dict[str, Any]]] = BENCH["load"]
measure: Callable[[list[dict[str, Any]]], dict[str, float]] = BENCH["measure"]
right: Callable[[JobRole, dict[str, Any]], dict[str, bool]] = BENCH["right"]
same_title: Callable[[str | None, str | None], bool] = BENCH["same_title"]


@pytest.mark.parametrize("name", ["sample", "own"])
def test_uncontested_headlines_are_read_right(name: str) -> None:
    rows = [row for row in load(DATA / f"{name}_titles.jsonl") if not row["contested"]]
    shares = measure(rows)

    assert shares["precision"] >= 0.99
    assert shares["recall"] >= 0.98
    assert shares["family"] >= 0.98
    assert shares["level"] >= 0.98
    assert shares["title"] >= 0.97
    assert shares["company"] >= 0.97


def test_contested_headlines_are_mostly_read_as_labelled() -> None:
    rows = [row for row in load(DATA / "own_titles.jsonl") if row["contested"]]

    assert measure(rows)["eligible"] >= 0.95


@pytest.mark.slow
def test_constructions_and_languages_are_read() -> None:
    rows = load(DATA / "construction_titles.jsonl")
    shares = measure(rows)

    assert len(rows) >= 1_000
    for measured in ("precision", "recall", "family", "level"):
        assert shares[measured] >= 0.99
    assert shares["title"] >= 0.975
    assert shares["company"] >= 0.98
