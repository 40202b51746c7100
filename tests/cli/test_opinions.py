"""Opinions on headlines through the commands: shown, ranked with again, exported, erased."""

import json
from pathlib import Path

import pytest

from cli.command import Here
from cs.domain.brand.brand import brand_stream
from cs.domain.codec import AnyEvent
from cs.domain.contact import Opinion
from cs.domain.key import KeyIssued, SearchAdmitted, SearchSettled
from cs.domain.mail.mailbox import Verdict
from cs.domain.ranking import rank
from cs.domain.rule_sets import RANKING
from cs.domain.source_cost import SourceCost
from cs.domain.stages.work import RankingDone
from cs.eventlog.port import NO_STREAM, Append
from domain.acme_run import ACME, AT, QUERY, AcmeRun, checked, sighting
from harness.on_data import plant
from sources.people_services import always, ok
from sources.played_services import on_port

SEARCH = "srch_" + "a" * 20
JO = sighting("Jo Lane", "Zorbification Manager at Acme")
OPINION = Opinion(
    person="p1",
    doubts=("no-family",),
    family="social",
    level="manager",
    title="Zorbification Manager",
    model="small-model",
    prompt="headline-opinion-1",
)
PAID = SourceCost(name="opinion", asked=1, calls=1, micros=2_000, found=1)


def store(folder: Path) -> None:
    """Store a run that was ranked with an opinion, and a search that it answered."""
    run = AcmeRun(stream=brand_stream(QUERY)).resolved().discovered(JO)
    ranked, left_out = rank(ACME, run.live.people, opinions=[OPINION])
    finding = RankingDone(
        ranked, left_out=left_out, rules=RANKING, opinions=(OPINION,), costs=(PAID,)
    )
    run.record("ranking", finding)
    end = run.verified(checked("p1", Verdict.UNDELIVERABLE)).finish
    of_key: list[AnyEvent] = [
        KeyIssued(at=AT, label="shop", quota=9, secret_hash="0" * 64, last4="wxyz"),
        SearchAdmitted(at=AT, search=SEARCH, brand="Acme", query=QUERY, lookup=end.lookup),
    ]
    settled = SearchSettled(
        at=run.at,
        search=SEARCH,
        lookup=end.lookup,
        outcome=end.outcome,
        charged=False,
        cached=False,
    )
    plant(
        folder,
        Append("key-key_1", NO_STREAM, of_key),
        Append(run.stream, NO_STREAM, run.events),
        Append("key-key_1", 1, [settled]),
    )


@pytest.mark.slow
def test_an_opinion_is_shown_ranked_with_exported_and_erased(
    here: Here, tmp_path: Path
) -> None:
    store(tmp_path / "data")
    data, html = f"--data-dir={tmp_path / 'data'}", tmp_path / "search.html"

    show = ("searches", "show", SEARCH, data)
    shown = here(*show, "--reveal=to see whether it is shown", width=200)
    as_json = here(*show, "--json")
    page = here(*show, "--reveal=to see whether it is shown", f"--html={html}")
    again = here("replay", "ranking", data, "--json")
    held = here("people", "export", f"--profile={JO.linkedin_url}", data)
    erased = here("people", "erase", f"--profile={JO.linkedin_url}", data)
    after = here(*show, "--json")

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
