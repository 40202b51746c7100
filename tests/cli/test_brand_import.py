"""`cs brands import`: what it tells and changes, and who answers from then on."""

from pathlib import Path

import pytest

from cli.command import Here

pytestmark = pytest.mark.slow

FILE = (
    "name,website,size,linkedin_url\nZephyrine Beaute,zephyrine.example,51-200,\n,x.example,,\n"
)


def test_a_file_is_imported_as_the_dry_run_said(here: Here, tmp_path: Path) -> None:
    file, data = tmp_path / "open.csv", ("--data-dir", str(tmp_path / "data"))
    file.write_text(FILE)

    dry = here("brands", "import", str(file), "--dry-run", "--json", *data)
    assert not list((tmp_path / "data").glob("brands*"))
    done = here("brands", "import", str(file), "--json", *data)
    again = here("brands", "import", str(file), *data)

    counts = {"rows": 2, "new": 1, "updated": 0, "unchanged": 0, "refused": 1}
    assert [each.code for each in (dry, done, again)] == [1, 1, 1]
    assert dry.rows[0].items() >= {**counts, "dry_run": True}.items()
    assert done.rows[0].items() >= counts.items()
    assert done.rows[0]["problems"] == [[3, "no name"]]
    assert done.rows[0]["columns"]["domain"] == "website"
    assert "0 new, 0 updated, 1 unchanged, 1 refused" in again.out
    assert "line 3: no name" in again.err


def test_a_file_that_is_none_says_why(here: Here, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("who,where\na,b\n")

    told = here("brands", "import", str(tmp_path / "list.csv")).told()

    assert "lacks a column called name" in told


def test_imported_brands_are_known_offline(here: Here, tmp_path: Path) -> None:
    file, config = tmp_path / "open.csv", tmp_path / "cs.toml"
    file.write_text(FILE)
    config.write_text(f'data_dir = "{tmp_path / "data"}"\n')
    asked = ("resolve", "Zéphyrine Beauté", "--offline", "--json", "--config", str(config))

    before = here(*asked).rows[0]
    here("brands", "import", str(file), "--config", str(config))
    after = here(*asked).rows[0]

    assert (before["status"], before["sources"]) == ("no_match", {"directory": "no_results"})
    assert (after["status"], after["domain"]) == ("matched", "zephyrine.example")
    assert after["sources"] == {"directory": "no_results", "imported": "used"}
