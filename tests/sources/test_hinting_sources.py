"""Brand sources with a key: what they hint at, when they are asked, and how they fail."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cs.domain.contact import BrandFacts, Query
from cs.paid_calls.budgets.memory import MemoryBudgets
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.sources import BrandSource, SourceContext, SourceStatus
from cs.sources.brand import company_enrich, search_panel
from sources.people_services import (
    FAULTS,
    KEY,
    NOW,
    Asked,
    Nobody,
    Played,
    Respond,
    always,
    ok,
)
from sources.test_people_services import playing

MAKERS: dict[str, Callable[[SourceContext], BrandSource]] = {
    "serper": search_panel.from_context,
    "pdl": company_enrich.from_context,
}
ACME = Query("Acme")


def panel_says(asked: Asked) -> Any:
    if "Acme" not in asked.says:
        return ok({"organic": [], "credits": 1})
    results = [
        {"title": "Acme - Wikipedia", "link": "https://en.wikipedia.org/wiki/Acme"},
        {"title": "Acme: Home", "link": "https://www.acme.shop/en?x=1", "position": 2},
        {"title": "Acme on a shop", "link": "https://shop.example/acme"},
    ]
    panel = {"title": "ACME", "website": "https://www.acme.example/", "attributes": {}}
    return ok({"knowledgeGraph": panel, "organic": results, "credits": 1})


def company_says(asked: Asked) -> Any:
    if asked.params.get("name") != "Acme":
        body = {"status": 404, "error": {"type": "not_found", "message": "no"}}
        return 404, {}, json.dumps(body).encode()
    return ok(
        {
            "status": 200,
            "likelihood": 8,
            "name": "acme",
            "display_name": "Acme",
            "website": "acme.example",
            "linkedin_url": "linkedin.com/company/acme-brands",
            "alternative_names": ["acme inc", "acme brands"],
            "employee_count": 51,
            "location": {"name": "berlin, germany"},
        }
    )


SAYS: dict[str, Respond] = {"serper": panel_says, "pdl": company_says}
#: By service, what it hints at for Acme.
HINTS = {"serper": ["acme.example", "acme.shop"], "pdl": ["acme.example"]}


def source_of(name: str, client: Any, *, key: str = KEY, **more: Any) -> BrandSource:
    budgets = more.pop("budgets", None) or MemoryBudgets()
    context = SourceContext(
        trusted=client,
        guarded=client,
        settings={"key": key, "burst": 50} | more,
        now=lambda: NOW,
        budgets=budgets,
    )
    return MAKERS[name](context)


@pytest.fixture(params=sorted(MAKERS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestEveryHint(BrandSourceContract):
    @pytest.fixture
    def case(self, name: str) -> BrandSourceCase:
        broken = [source_of(name, Played(always(fault[1]))) for fault in FAULTS]
        broken += [source_of(name, Nobody(SAYS[name]))]
        works = source_of(name, Played(SAYS[name]))
        return BrandSourceCase(works, ACME, Query("Nobody At All"), tuple(broken))


async def test_a_hint_is_never_enough_by_itself(name: str) -> None:
    answer = await source_of(name, Played(SAYS[name])).find(ACME, None)

    assert [match.facts.domain for match in answer.matches] == HINTS[name]
    assert all(match.score < 0.1 for match in answer.matches)


async def test_a_company_has_its_page_and_its_other_names() -> None:
    answer = await source_of("pdl", Played(company_says)).find(ACME, None)

    assert answer.matches[0].facts == BrandFacts(
        name="Acme",
        domain="acme.example",
        linkedin_company_url="https://www.linkedin.com/company/acme-brands",
        aliases=("acme", "acme inc", "acme brands"),
        mail_domains=("acme.example",),
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"display_name": "Acne Studios", "name": "acne studios", "alternative_names": []},
        {"website": None},
        {"website": "not a host"},
        {"display_name": None, "name": "Nobody", "alternative_names": None},
    ],
)
async def test_another_company_or_one_without_a_site_is_no_hint(changed: Any) -> None:
    def says(asked: Asked) -> Any:
        return ok(json.loads(company_says(asked)[2]) | changed)

    answer = await source_of("pdl", Played(says)).find(ACME, None)

    assert (answer.ended, answer.matches) == (SourceStatus.NO_RESULTS, ())


async def test_a_panel_of_somebody_else_is_no_hint() -> None:
    def says(_: Asked) -> Any:
        panel = {"title": "Acme Robotics", "website": "https://acme-robotics.example/"}
        first = {"title": "Acme", "link": "https://news.example/acme"}
        return ok({"knowledgeGraph": panel, "organic": [first]})

    answer = await source_of("serper", Played(says)).find(ACME, None)

    assert (answer.ended, answer.matches) == (SourceStatus.NO_RESULTS, ())


@pytest.mark.parametrize("brand", [None, "Acme"])
async def test_nothing_is_paid_where_a_domain_is_asked(name: str, brand: str | None) -> None:
    client = Played(SAYS[name])

    answer = await source_of(name, client).find(Query(brand, "acme.example"), None)

    assert (answer.ended, client.asked) == (SourceStatus.NO_RESULTS, [])


async def test_without_a_key_it_says_what_to_set(name: str) -> None:
    answer = await source_of(name, Played(SAYS[name]), key="").find(ACME, None)

    assert answer.ended is SourceStatus.NOT_CONFIGURED
    assert answer.why == f"set sources.{name}.key"


async def test_on_a_real_server_each_hints_for_its_price_and_tells_its_faults() -> None:
    wrong = []
    for name, price in (("serper", 1_000), ("pdl", 100_000)):
        budgets = MemoryBudgets()
        async with playing(SAYS[name]) as (web, client):
            source = source_of(name, client, budgets=budgets, url=f"{web.url}/v9")
            answer = await source.find(ACME, None)
            nobody = await source.find(Query("Nobody At All"), None)
        (spent,) = await budgets.spending()
        if [match.facts.domain for match in answer.matches] != HINTS[name] or nobody.matches:
            wrong.append(f"{name}: {answer} {nobody}")
        # Nobody found is charged by the engine, and not by the company file.
        if spent.micros_today != price * (2 if name == "serper" else 1):
            wrong.append(f"{name}: {spent.micros_today}")
        if any(got.headers.get("x-api-key") != KEY or KEY in got.path for got in web.asked):
            wrong.append(f"{name}: its key")
        for told, fault, ended, retry_in_s, permanent in FAULTS:
            async with playing(always(fault)) as (web, client):
                answer = await source_of(name, client, url=web.url).find(ACME, None)
            if (answer.ended.value, answer.permanent) != (ended, permanent) or answer.matches:
                wrong.append(f"{name}, {told}: {answer}")
            if retry_in_s is not None and answer.retry_in_s != retry_in_s:
                wrong.append(f"{name}, {told}: {answer.retry_in_s} s")
    assert not wrong, "\n".join(wrong)
