"""Opinions on headlines through the commands: shown, ranked with again, exported, erased."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cli.command import Here
from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.brand.events import (
    BrandResolved,
    ContactsDiscovered,
    ContactsRanked,
    LookupFinished,
    LookupStarted,
    StageIssued,
)
from cs.domain.codec import AnyEvent
from cs.domain.contact import BrandFacts, Opinion, Person, Query
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.domain.ranking import rank
from cs.domain.rule_sets import RANKING
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import RankingInput
from cs.eventlog.port import NO_STREAM, Append
from harness.on_data import plant
from sources.people_services import always, ok
from sources.played_services import on_port

AT = datetime(2026, 11, 1, tzinfo=UTC)
UNTIL = AT + timedelta(minutes=2)
QUERY = Query(brand="Acme")
STREAM = brand_stream(QUERY)
LOOKUP = lookup_id(STREAM, 1, "aaaa")
SEARCH = "srch_" + "a" * 20
ACME = BrandFacts(name="Acme", domain="acme.test")
PAGE = "https://www.linkedin.com/in/jo-lane"
JO = Person(
    person="p1",
    full_name="Jo Lane",
    headline="Zorbification Manager at Acme",
    linkedin_url=PAGE,
    sources=("staff",),
)
OPINION = Opinion(
    person="p1",
    doubts=("no-family",),
    family="social",
    level="manager",
    title="Zorbification Manager",
    model="small-model",
    prompt="headline-opinion-1",
)


def store(folder: Path) -> None:
    ranked, left_out = rank(ACME, [JO], opinions=[OPINION])
    of_key: list[AnyEvent] = [
        KeyIssued(at=AT, label="shop", quota=9, secret_hash="0" * 64, last4="wxyz"),
        SearchAdmitted(at=AT, search=SEARCH, brand="Acme", query=QUERY, lookup=LOOKUP),
    ]
    of_brand: list[AnyEvent] = [
        LookupStarted(at=AT, lookup=LOOKUP, number=1, query=QUERY, deadline_at=UNTIL),
        BrandResolved(at=AT, lookup=LOOKUP, status="matched", brand=ACME),
        ContactsDiscovered(at=AT, lookup=LOOKUP, people=(JO,), conclusive=True),
        StageIssued(
            at=AT,
            lookup=LOOKUP,
            stage="ranking",
            attempt=1,
            deadline_at=UNTIL,
            input=RankingInput(brand=ACME, people=(JO,)),
        ),
        ContactsRanked(
            at=AT,
            lookup=LOOKUP,
            ranked=ranked,
            left_out=left_out,
            rules=RANKING,
            opinions=(OPINION,),
            costs=(SourceCost(name="opinion", asked=1, calls=1, micros=2_000, found=1),),
        ),
        LookupFinished(
            at=AT, lookup=LOOKUP, outcome="no_emails", reusable=True, verified=0, brand=ACME
        ),
    ]
    settled = SearchSettled(
        at=AT, search=SEARCH, lookup=LOOKUP, outcome="no_emails", charged=False, cached=False
    )
    plant(
        folder,
        Append("key-key_1", NO_STREAM, of_key),
        Append(STREAM, NO_STREAM, of_brand),
        Append("key-key_1", 1, [settled]),
    )


@pytest.mark.slow
def test_an_opinion_is_shown_ranked_with_exported_and_erased(
    here: Here, tmp_path: Path
) -> None:
    store(tmp_path / "data")
    data, html = f"--data-dir={tmp_path / 'data'}", tmp_path / "search.html"

    shown = here(
        "searches", "show", SEARCH, data, "--reveal", "to see whether it is shown", width=200
    )
    as_json = here("searches", "show", SEARCH, data, "--json")
    page = here(
        "searches",
        "show",
        SEARCH,
        data,
        "--reveal",
        "to see whether it is shown",
        "--html",
        str(html),
    )
    again = here("replay", "ranking", data, "--json")
    held = here("people", "export", "--profile", PAGE, data)
    erased = here("people", "erase", "--profile", PAGE, data)
    after = here("searches", "show", SEARCH, data, "--json")

    for ran in (shown, as_json, page, again, held, erased, after):
        assert ran.code == 0, ran
    for word in ("no-family", "small-model", "Zorbification Manager", "0.002"):
        assert word in shown.out
        assert word in html.read_text()
    (person,) = as_json.rows[0]["run"]["people"]
    assert (person["opinion"]["family"], person["opinion"]["title"]) == ("social", "(hidden)")
    assert again.rows[-1]["gained"] == again.rows[-1]["lost"] == again.rows[-1]["changed"] == 0
    assert '"model": "small-model"' in held.out
    left = after.out.replace('"name":"opinion"', "").replace('"opinion":null', "")
    assert "opinion" not in left


def test_a_headline_is_shown_as_rules_and_model_read_it(here: Here, tmp_path: Path) -> None:
    headline = "Zorbification Manager at Acme"
    opinion = {"family": "social", "level": "manager", "title": None, "company": None}
    said = {"message": {"content": json.dumps(opinion)}}
    config = tmp_path / "cs.toml"
    rules = here("classify", headline, "--json")
    with on_port(always(ok({"choices": [said]}))) as model:
        config.write_text(
            f'data_dir = "{tmp_path}"\nbrand_sources = ["directory"]\npeople_sources = []\n'
            f'opinion_url = "{model.url}/v1"\nopinion_model = "small-model"\n'
            "opinion_usd_per_call = 0.01\n"
        )
        ran = here("classify", headline, "--opinion", "--json", f"--config={config}")
        sure = here("classify", "Head of Social at Acme", "--opinion", f"--config={config}")

    (row,) = ran.rows
    assert rules.rows[0].items() <= row.items()
    assert (row["opinion"]["family"], row["counts"], row["usd"]) == ("social", True, 0.01)
    assert (row["read"]["eligible"], row["sent"]) == (True, headline)
    assert "unsure of: nothing" in sure.out
    assert "does not count; $0.0100" in sure.out

    away = here("classify", headline, "--opinion", "--json", f"--config={config}")
    (row,) = away.rows
    assert (row["opinion"], row["counts"]) == (None, False)
    assert row["why"].startswith("opinion")
    assert row["read"].items() <= rules.rows[0].items()

    config.write_text(f'data_dir = "{tmp_path}"\n')
    none = here("classify", headline, "--opinion", f"--config={config}")
    assert none.error() == "no language model is set up: set opinion_url and opinion_model"
