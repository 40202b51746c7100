"""`cs search --file LIST --estimate`: by hand, and on the data of a real service."""

from pathlib import Path
from typing import Any

import pytest

from cli.command import Here
from cli.test_report import FOUND, NOBODY, Data, data
from cs.assembly.price_list import PricedPlugin, price_list
from cs.cli.brand_list.estimate import Estimate, RowCounts, Stop, estimate
from cs.domain.source_cost import SourceFigures
from cs.history.estimating import ENOUGH_RUNS, PastRun, spread
from cs.settings import Settings

__all__ = ["data"]
CENT = 10_000
LIST = f"brand,domain\n{FOUND},\n{NOBODY},\nZenith,\nＺenith,\nme@mail.example,\n"
PRICES = (
    PricedPlugin(
        stage="contact-discovery",
        name="hunter",
        usd=0.05,
        questions=1,
        usd_per_day=2.0,
        usd_per_month=100.0,
        usd_today=1.0,
        usd_this_month=1.0,
    ),
    PricedPlugin(stage="verification", name="hunter", usd=0.01, questions=30, usd_per_day=2.0),
    PricedPlugin(stage="verification", name="kickbox", usd=0.008, questions=30),
)


def past(cents: int, took_s: float = 60.0, *, verified: bool = True) -> PastRun:
    use = SourceFigures(stage="verification", name="hunter", calls=cents, micros=cents * CENT)
    return PastRun(took_s=took_s, verified=verified, recorded=True, figures=(use,))


def of(counts: RowCounts, runs: list[PastRun], **more: Any) -> Estimate:
    return estimate(counts, runs, PRICES, **more)


def test_money_charges_and_time_are_those_of_the_runs_by_hand() -> None:
    runs = [past(n % 4, verified=n % 2 == 0) for n in range(ENOUGH_RUNS)]
    found = of(RowCounts(reused=5, charged=3, joined=2, live=100, refused=1), runs)

    assert (found.rows, found.runs, found.by_prices_alone) == (108, ENOUGH_RUNS, False)
    assert found.usd == spread([n % 4 / 100 for n in range(ENOUGH_RUNS)], 100)
    assert found.usd.expected == pytest.approx(100 * 0.015)
    (use,) = found.uses
    assert (use.stage, use.name, use.calls.expected) == ("verification", "hunter", 150.0)
    assert found.charges is not None
    assert found.charges.expected == 3 + 102 / 2
    # 107 searches with one key: 60 today, the others tomorrow.
    assert found.duration_s == 86_400.0
    # A dollar is left of today's two, at 1.5 cents a search.
    assert found.stops == [Stop(cap="usd_per_day of hunter", after_searches=66)]


def test_nothing_live_costs_nothing() -> None:
    found = of(RowCounts(reused=2, charged=1), [past(9)] * ENOUGH_RUNS)

    assert (found.usd, found.stops) == (spread([0.09] * ENOUGH_RUNS, 0), [])
    assert found.usd.p90 == 0
    assert found.charges == spread([1.0], 1)


def test_with_few_runs_it_is_the_most_that_the_settings_allow() -> None:
    found = of(RowCounts(live=10), [past(1)] * (ENOUGH_RUNS - 1), lookups_per_day=4)

    # A search at the source, and 30 questions to the dearest verifier.
    assert found.by_prices_alone
    assert found.most_usd_per_search == 0.35
    assert (found.usd.expected, found.usd.p90) == (3.5, 3.5)
    assert [each.cap for each in found.stops] == ["usd_per_day of hunter", "lookups_per_day"]
    assert [each.after_searches for each in found.stops] == [2, 4]


def test_a_list_takes_as_long_as_two_runs_at_once_and_the_limits_of_a_key() -> None:
    slow, quick = [past(1, took_s=90.0)], [past(1, took_s=1.0)]

    assert of(RowCounts(live=10), slow).duration_s == 10 * 90 / 2
    assert of(RowCounts(live=7), quick).duration_s == 60.0  # six a minute
    assert of(RowCounts(live=7), []).duration_s is None
    assert of(RowCounts(live=7), []).charges is None


async def test_the_operators_own_model_is_priced_where_people_are_real(tmp_path: Path) -> None:
    chosen = Settings(
        data_dir=tmp_path / "data",
        people_sources=(),
        brand_sources=(),
        verifiers=(),
        opinion_url="http://127.0.0.1:9/v1",
        opinion_model="any",
        opinion_usd_per_call=0.5,
        opinion_usd_per_day=2.0,
    )

    (model,) = await price_list(chosen, "live")

    assert (model.stage, model.name, model.usd, model.questions) == (
        "ranking",
        "opinion",
        0.5,
        1,
    )
    assert (model.usd_per_day, model.usd_today) == (2.0, 0.0)
    found = estimate(RowCounts(live=10), [], [model])
    assert (found.usd.p90, found.stops) == (
        5.0,
        [Stop(cap="usd_per_day of opinion", after_searches=4)],
    )
    assert await price_list(chosen, "sandbox") == []


def test_the_command_tells_it_and_searches_nothing(data: Data, tmp_path: Path) -> None:
    path = tmp_path / "brands.csv"
    path.write_text(LIST)
    config = tmp_path / "cs.toml"
    config.write_text(
        '[verifiers.kickbox]\nurl = "http://127.0.0.1:9"\nkey = "k"\n'
        "usd_per_call = 0.008\nusd_per_day = 0.3\n"
    )
    before = data.cs("report", "--json").rows[0]["upto"]
    options = ("search", "--file", str(path), "--estimate", f"--config={config}")

    told = data.cs(*options)
    found = data.cs(*options, "--json").rows[0]

    counts = [found[name] for name in ("rows", "reused", "joined", "live", "refused")]
    assert counts == [5, 2, 1, 1, 1]
    assert found["by_prices_alone"]
    assert found["most_usd_per_search"] == pytest.approx(30 * 0.008, abs=0.01)
    assert found["stops"] == []
    assert "by the prices of the settings alone" in told.out
    assert "nothing was searched, and nobody was asked" in told.out
    assert (told.code, told.err) == (0, "")
    assert not list(tmp_path.glob("*.journal"))
    assert data.cs("report", "--json").rows[0]["upto"] == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["Acme", "--estimate"], "--estimate is of a list"),
        (["--file", "x.csv", "--estimate", "--results", "y.csv"], "--estimate is of a list"),
        (["Acme", "--data-dir", "x"], "--data-dir and --config belong to --estimate"),
    ],
)
def test_what_makes_no_sense_is_told(here: Here, words: list[str], told: str) -> None:
    found = here("search", *words)

    assert (found.code, told in found.err) == (2, True)
