"""`cs sources check`, `cs verifiers check`: what works, what it costs, what is left."""

import json
from pathlib import Path

import pytest

from cli.command import Here
from sources.people_services import KEY, always, error, hunter_says, ok, pdl_says
from sources.played_services import on_port

NEVERBOUNCE = {
    "status": "success",
    "result": "invalid",
    "flags": [],
    "credits_info": {"paid_credits_remaining": 950, "free_credits_remaining": 50},
}


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "cs.toml"


def test_each_source_is_reported_with_its_state_price_and_what_is_left(
    here: Here, config: Path, tmp_path: Path
) -> None:
    searxng = always(ok({"results": [{"url": "x", "title": "y"}], "unresponsive_engines": []}))
    with (
        on_port(hunter_says) as hunter,
        on_port(pdl_says) as pdl,
        on_port(always(error(402))) as brave,
        on_port(searxng) as web,
    ):
        tables = {
            "hunter": f'url = "{hunter.url}"\nkey = "{KEY}"',
            "pdl": f'url = "{pdl.url}"\nkey = "{KEY}"\nusd_per_day = 2.5',
            "brave": f'url = "{brave.url}"\nkey = "{KEY}"',
            "searxng": f'url = "{web.url}"',
        }
        toml = "".join(f"[sources.{name}]\n{lines}\n" for name, lines in tables.items())
        config.write_text(f'data_dir = "{tmp_path}"\nbrand_sources = ["directory"]\n{toml}')

        ran = here("sources", "check", "--json", f"--config={config}")
        table = here("sources", "check", f"--config={config}", width=100)

    rows = {row["name"]: row for row in ran.rows}
    assert ran.code == table.code == 1
    assert ran.err.strip() == table.err.strip() == "cs: failed: brave"
    own = [(row["kind"], row["ended"]) for row in ran.rows if row["name"] == "directory"]
    assert own == [("brand source", "not-checked"), ("people source", "not-configured")]
    assert {name: row["ended"] for name, row in rows.items() if name != "directory"} == {
        "apollo": "not-configured",
        "brave": "no-credits",
        "hunter": "works",
        "pdl": "works",
        "searxng": "works",
        "serper": "not-configured",
    }
    assert rows["hunter"]["left"] == "600 of 1,000 searches"
    assert (rows["pdl"]["usd_per_day"], rows["pdl"]["usd_today"]) == (2.5, 0.0)
    assert rows["brave"]["why"].startswith("brave has no credits left")
    assert rows["apollo"]["why"] == "set sources.apollo.key"
    assert KEY not in ran.out + ran.err + table.out
    for shown in ("600 of 1,000 searches left", "$0.00 of $2.5", "no-credits", "3 of 8 work"):
        assert shown in table.out
    assert [len(each.asked) for each in (hunter, pdl, brave, web)] == [2, 2, 2, 2]


def test_each_verifier_is_reported_with_its_state_price_and_what_is_left(
    here: Here, config: Path, tmp_path: Path
) -> None:
    refused = ok({"error": "Invalid API key or your account ran out of credits"})
    with (
        on_port(always(ok(NEVERBOUNCE))) as neverbounce,
        on_port(always(error(402))) as kickbox,
        on_port(always(refused)) as zerobounce,
    ):
        places = {"neverbounce": neverbounce, "kickbox": kickbox, "zerobounce": zerobounce}
        toml = "".join(
            f'[verifiers.{name}]\nurl = "{place.url}"\nkey = "{KEY}"\n'
            for name, place in places.items()
        )
        config.write_text(f'data_dir = "{tmp_path}"\n{toml}[verifiers.smtp]\nhelo = "o.test"\n')

        ran = here("verifiers", "check", "--json", f"--config={config}")

    rows = {row["name"]: row for row in ran.rows}
    assert ran.code == 1
    assert {name: row["ended"] for name, row in rows.items()} == {
        "hunter": "not-configured",
        "kickbox": "no-credits",
        "millionverifier": "not-configured",
        "neverbounce": "works",
        "reacher": "not-configured",
        "smtp": "not-checked",
        "zerobounce": "key-refused",
    }
    assert (
        rows["neverbounce"].items() >= {"left": "1000 credits", "usd_per_call": 0.008}.items()
    )
    assert {row["kind"] for row in rows.values()} == {"verifier"}
    assert KEY not in ran.out + ran.err


def test_a_language_model_is_asked_about_one_headline(
    here: Here, config: Path, tmp_path: Path
) -> None:
    opinion = {"family": "brand", "level": "manager", "title": None, "company": None}
    said = {"message": {"content": json.dumps(opinion)}}
    with on_port(always(ok({"choices": [said]}))) as model:
        config.write_text(
            f'data_dir = "{tmp_path}"\nbrand_sources = ["directory"]\npeople_sources = []\n'
            f'opinion_url = "{model.url}/v1"\nopinion_model = "small-model"\n'
            f'opinion_key = "{KEY}"\nopinion_usd_per_call = 0.01\n'
        )
        ran = here("sources", "check", "--json", f"--config={config}")

    row = next(row for row in ran.rows if row["name"] == "opinion")
    assert ran.code == 0
    assert (row["kind"], row["ended"], row["usd_today"]) == ("second opinion", "works", 0.01)
    assert KEY not in ran.out + ran.err
    (asked,) = model.asked
    assert asked.path == "/v1/chat/completions"
    assert asked.json, "posted"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
