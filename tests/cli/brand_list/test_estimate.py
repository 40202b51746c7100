"""`cs search --file LIST --estimate`: by hand, and on the data of a real service."""

from collections import Counter
from pathlib import Path

import pytest

from cli.command import Here
from cli.test_report import FOUND, NOBODY, Data, data
from cs.cli.list_estimate import estimate
from cs.history.loading import PastRun

__all__ = ["data"]
CENT = 10_000
LIST = f"brand,domain\n{FOUND},\n{NOBODY},\nZenith,\nＺenith,\nme@mail.example,\n"


def test_the_cost_is_the_mean_of_past_runs_by_hand() -> None:
    past = [PastRun(cents * CENT, verified=cents % 2 == 0) for cents in range(11)]

    found = estimate(Counter(reused=5, charged=3, joined=2, live=100, refused=1), past)

    assert (found["rows"], found["runs"]) == (108, 11)
    assert found["usd"] == pytest.approx(100 * 0.05)
    assert found["usd_per_search"] == {"mean": 0.05, "low": 0.01, "high": 0.09}
    assert found["charges"] == pytest.approx(3 + 102 * 6 / 11, abs=0.05)


def test_nothing_live_costs_nothing_and_without_runs_nothing_is_known() -> None:
    reused = estimate(Counter(reused=2, charged=1), [PastRun(9 * CENT, verified=True)])
    unknown = estimate(Counter(live=7), [])

    assert (reused["usd"], reused["charges"]) == (0, 1)
    assert (unknown["usd"], unknown["usd_per_search"], unknown["charges"]) == (None, None, None)


def test_the_command_counts_and_searches_nothing(data: Data, tmp_path: Path) -> None:
    path = tmp_path / "brands.csv"
    path.write_text(LIST)
    before = data.cs("report", "--json").rows[0]["position"]
    options = ("search", "--file", str(path), "--estimate")

    message = data.cs(*options)
    found = data.cs(*options, "--json").rows[0]

    counts = [found[name] for name in ("rows", "reused", "joined", "live", "refused")]
    assert counts == [5, 2, 1, 1, 1]
    assert message.out.startswith("5 brands: 2 answered from reuse, 1 by another search")
    assert message.out.endswith("nothing was searched\n")
    assert (message.code, message.err) == (0, "")
    assert not list(tmp_path.glob("*.journal"))
    assert data.cs("report", "--json").rows[0]["position"] == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["Acme", "--estimate"], "--estimate is of a list"),
        (["--file", "x.csv", "--estimate", "--results", "y.csv"], "--estimate is of a list"),
        (["Acme", "--data-dir", "x"], "--data-dir and --config belong to --estimate"),
    ],
)
def test_what_makes_no_sense_is_reported(here: Here, words: list[str], message: str) -> None:
    found = here("search", *words)

    assert (found.code, message in found.err) == (2, True)
