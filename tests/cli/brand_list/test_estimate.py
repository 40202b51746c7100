"""`cs search --file LIST --estimate`: by hand, and on the data of a real service."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.command import Here
from cli.test_report import FOUND, NOBODY, Data, data
from cs.domain.brand.brand import brand_stream
from cs.domain.contact import Query
from cs.domain.mail.mailbox import Verdict
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import Discovered
from cs.eventlog.port import NO_STREAM, Append
from domain.acme_run import ADA, AcmeRun, checked, ranked
from harness.on_data import plant

__all__ = ["data"]
CENT = 10_000
YESTERDAY = datetime.now(UTC) - timedelta(days=1)
LIST = f"brand,domain\n{FOUND},\n{NOBODY},\nZenith,\nＺenith,\nme@mail.example,\n"


def past_run(cents: int) -> Append:
    """Return a run of yesterday that cost so many cents, verified if they are even."""
    query = Query(f"Past {cents}")
    run = AcmeRun(stream=brand_stream(query), query=query, at=YESTERDAY).resolved()
    cost = SourceCost(name="brave", asked=1, calls=1, micros=cents * CENT)
    run.record("contact-discovery", Discovered(people=(ADA,), costs=(cost,)))
    verdict = (Verdict.DELIVERABLE, Verdict.UNDELIVERABLE)[cents % 2]
    run.ranked(ranked("p1")).verified(checked("p1", verdict))
    return Append(run.stream, NO_STREAM, run.events)


def test_the_cost_is_the_mean_of_past_runs(here: Here, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "brands.txt"
    path.write_text("".join(f"New {n}\n" for n in range(100)) + "Past 0\nPast 1\nPast 2\n")
    words = ("search", f"--file={path}", "--estimate", "--json", f"--data-dir={folder}")

    unknown = here(*words).rows[0]
    plant(folder, *map(past_run, range(11)))
    found = here(*words).rows[0]

    assert (unknown["usd"], unknown["usd_per_search"], unknown["charges"]) == (None, None, None)
    assert (found["rows"], found["live"], found["reused"], found["runs"]) == (103, 100, 3, 11)
    assert found["usd"] == pytest.approx(100 * 0.05)
    assert found["usd_per_search"] == {"mean": 0.05, "low": 0.01, "high": 0.09}
    assert found["charges"] == pytest.approx(2 + 100 * 6 / 11, abs=0.05)


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
