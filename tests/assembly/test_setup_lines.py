from typing import Any

import pytest

from cs.settings import BadSettings
from harness.outside import lines_at_start, set_up

NOTHING: dict[str, str] = {}
ALL = {
    "CS_SEARXNG_URL": "http://127.0.0.1:8888",
    "CS_SOURCES__BRAVE__KEY": "s3cret",
    "CS_SOURCES__PDL__KEY": "s3cret",
    "CS_SOURCES__PDL__USD_PER_DAY": "2.5",
    "CS_SMTP_HELO": "mail.op.example",
    "CS_CONTACT": "ops@op.example",
}


async def lines(environment: dict[str, str]) -> dict[str, Any]:
    told = await lines_at_start(environment)
    assert len(told) == 5
    assert not any("s3cret" in line for line in told)
    return dict(line.split(": ", 1) for line in told)


async def test_what_is_missing_is_reported_with_what_that_costs() -> None:
    told = await lines(NOTHING)

    assert told["brands"].startswith("directory, website, wikidata")
    assert told["people"].startswith("none can be asked; not set up: apollo, brave, ")
    assert told["people"].endswith("set searxng_url or a sources.NAME.key")
    assert "smtp" in told["e-mails"]
    assert "accept every address" in told["e-mails"]
    assert "set smtp_helo" in told["outside"]
    assert "no contact" in told["outside"]
    assert told["spending"] == "nothing, no service with a key is asked"


async def test_what_is_set_up_is_reported() -> None:
    told = await lines(ALL)

    assert (
        told["people"] == "brave, pdl, searxng; not set up: apollo, directory, hunter, serper"
    )
    assert told["outside"] == "mail.op.example to mail servers"
    assert told["spending"] == "at most $12.5 a day at 2 services with a key"


async def test_the_directory_may_have_a_place_in_the_order_before_it_has_people() -> None:
    order = {"CS_PEOPLE_SOURCE_ORDER": "directory,searxng"}

    async with set_up(ALL | order) as tools:
        names = [source.name for source in tools.people_sources]

    assert names == ["brave", "directory", "pdl", "searxng"]


async def test_a_second_opinion_is_reported_with_what_it_may_cost() -> None:
    model = {"CS_OPINION_URL": "http://127.0.0.1:1/v1", "CS_OPINION_MODEL": "small-model"}
    told = await lines(ALL | model)
    assert told["people"].endswith("; headlines that the rules are unsure of: small-model")
    assert told["spending"].startswith("at most $12.5 a day at 2 ")

    told = await lines(ALL | model | {"CS_OPINION_USD_PER_CALL": "0.01"})
    assert told["spending"].startswith("at most $22.5 a day at 3 ")


@pytest.mark.parametrize("named", ["url", "model"])
async def test_a_second_opinion_needs_an_address_and_a_model(named: str) -> None:
    half = {f"CS_OPINION_{named.upper()}": "http://127.0.0.1:1/v1"}
    other = {"url": "model", "model": "url"}[named]
    with pytest.raises(BadSettings, match=f"^opinion_{other}: "):
        async with set_up(half):
            raise AssertionError
