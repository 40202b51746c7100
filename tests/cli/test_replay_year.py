"""Rules run again over the year of the sandbox: real mail servers, real sources, one change."""

from pathlib import Path

import pytest

from cli.command import Here
from cli.year import year
from cs.domain.rule_sets import RANKING
from history.replay.made_up import said

__all__ = ["year"]  # a fixture

pytestmark = pytest.mark.slow


def test_the_rules_before_the_change_of_rules_left_brand_marketing_out(
    year: Path, here: Here
) -> None:
    rows = here("replay", "ranking", "--json", f"--data-dir={year}").rows

    told = said(rows, "difference")
    assert told
    assert {(row["change"], row["rules"]) for row in told} == {("gained", "ranking-0")}
    assert {row["would_be"]["family"] for row in told} == {"brand"}  # type: ignore[index]
    assert set(rows[-1]["by_rules"]) == {"ranking-0", RANKING}
