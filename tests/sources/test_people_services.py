"""Brave, Serper, Hunter, People Data Labs and Apollo: each does what every people source does,
reads the shapes of its service, and tells each of its faults as what it is."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from cs.domain.contact import BrandFacts, Sighting
from cs.metrics.metrics import Metrics
from cs.outside.http import TrustedClient
from cs.paid_calls.budgets.memory import MemoryBudgets
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.sources import SourceStatus, find_new
from cs.sources.isolated import IsolatedPeopleSource
from outside.loopback_web import Web, WebRequest, reply, serve
from sources.people_services import (
    FAULTS,
    JANE,
    JOSE,
    KEY,
    SERVICES,
    Answer,
    Asked,
    Nobody,
    Played,
    Respond,
    Service,
    always,
    error,
    ok,
    source_of,
)

ACME = BrandFacts(name="Acme", domain="acme.example")
NOBODY = BrandFacts(name="Nobody", domain="nobody.example")
BY_NAME = {service.name: service for service in SERVICES}


@pytest.fixture(params=SERVICES, ids=lambda service: str(service.name))
def service(request: pytest.FixtureRequest) -> Service:
    found: Service = request.param
    return found


class TestEveryService(PeopleSourceContract):
    @pytest.fixture
    def case(self, service: Service) -> PeopleSourceCase:
        answers = [fault[1] for fault in FAULTS] + [fault[0] for fault in service.own_faults]
        broken = [source_of(service, Played(always(answer))) for answer in answers]
        broken += [
            source_of(service, Nobody(service.says)),
            source_of(service, Played(service.says), key=""),
        ]
        works = source_of(service, Played(service.says))
        return PeopleSourceCase(works, ACME, NOBODY, tuple(broken))


@asynccontextmanager
async def playing(respond: Respond) -> AsyncIterator[tuple[Web, TrustedClient]]:
    """A server on loopback that answers as *respond* does."""

    async def answer(got: WebRequest, writer: asyncio.StreamWriter) -> None:
        split = urlsplit(got.path)
        body = json.loads(got.body) if got.body else None
        params = dict(parse_qsl(split.query))
        status, headers, said = respond(
            Asked(got.method, split.path, params, got.headers, body)
        )
        reply(writer, said, status=status, headers=headers)

    async with serve(answer) as web, TrustedClient(user_agent="cs/test") as client:
        yield web, client


async def test_on_a_real_server_each_finds_its_people_for_its_price() -> None:
    wrong = []
    for service in SERVICES:
        budgets = MemoryBudgets()
        async with playing(service.says) as (web, client):
            url = f"{web.url}/v9"
            source = source_of(service, client, budgets=budgets, url=url, burst=50)
            answer = await source.find(ACME, limit=50)
        (spent,) = await budgets.spending()
        people = [(each.full_name, each.company, each.source) for each in answer.people]
        if [who[0] for who in people] != ["Jane Doe", "José Núñez"]:
            wrong.append(f"{service.name}: found {people}, {answer.why}")
        if any(who[2] != service.name or "Acme" not in (who[1] or "") for who in people):
            wrong.append(f"{service.name}: says {people}")
        if answer.people[0].linkedin_url != JANE:
            wrong.append(f"{service.name}: {answer.people[0].linkedin_url}")
        if len(web.asked) != service.calls or spent.micros_today != round(service.usd * 1e6):
            wrong.append(f"{service.name}: {len(web.asked)} calls, {spent.micros_today}")
        if any(got.headers.get(service.key_header) != KEY for got in web.asked):
            wrong.append(f"{service.name}: no key in {service.key_header}")
        if any(KEY in got.path or not got.path.startswith("/v9/") for got in web.asked):
            wrong.append(f"{service.name}: asked {web.asked[0].path}")
        if source.cost < service.usd:
            wrong.append(f"{service.name}: cost {source.cost}")
    assert not wrong, "\n".join(wrong)


async def test_on_a_real_server_each_fault_is_told_as_what_it_is() -> None:
    wrong = []
    for service in SERVICES:
        cases = [(each[0], each[1], each[2], each[3], each[4]) for each in FAULTS]
        cases += [
            (f"own {n}", answer, ended, None, permanent)
            for n, (answer, ended, permanent) in enumerate(service.own_faults)
        ]
        for name, fault, ended, retry_in_s, permanent in cases:
            async with playing(always(fault)) as (web, client):
                source = source_of(service, client, url=web.url)
                answer = await source.find(ACME, limit=50)
            got = (answer.ended.value, answer.permanent, answer.people)
            if got != (ended, permanent, ()) or not answer.why or KEY in answer.why:
                wrong.append(f"{service.name}, {name}: {answer}")
            if retry_in_s is not None and answer.retry_in_s != retry_in_s:
                wrong.append(f"{service.name}, {name}: {answer.retry_in_s} s")
    assert not wrong, "\n".join(wrong)


async def test_a_check_costs_little_and_says_what_is_left(service: Service) -> None:
    budgets = MemoryBudgets()
    async with playing(service.says) as (web, client):
        source = source_of(service, client, url=web.url, budgets=budgets)
        check = await source.check()
    (spent,) = await budgets.spending()

    assert (check.ended, check.left) == ("works", service.check_left)
    assert check.usd == service.check_usd == check.usd_today == spent.micros_today / 1e6
    assert (check.usd_per_day, check.usd_per_month) == (10.0, 100.0)
    assert len(web.asked) == 1
    without = await source_of(service, client, key="").check()
    assert without.ended == "not-configured"
    assert without.why == f"set sources.{service.name}.key"
    refused = await source_of(service, Played(always(error(401)))).check()
    assert refused.ended == "key-refused"


# What is asked of each.


async def asked_of(service: Service, brand: BrandFacts = ACME, **settings: Any) -> list[Asked]:
    client = Played(service.says)
    await source_of(service, client, **settings).find(brand, limit=50)
    return client.asked


async def test_brave_is_asked_within_its_limits_in_the_market_of_the_brand() -> None:
    name = "Very Long Name " * 60
    brand = BrandFacts(name=name, domain="acme.de")
    asked = await asked_of(BY_NAME["brave"], brand)

    assert len(asked) == 5
    assert all(len(one.params["q"]) <= 400 for one in asked)
    assert all(len(one.params["q"].split()) <= 50 for one in asked)
    assert all(one.params["count"] == "20" for one in asked)
    assert [one.params.get("country") for one in asked] == [None] * 4 + ["de"]


async def test_serper_is_asked_two_questions_with_or() -> None:
    asked = await asked_of(BY_NAME["serper"], BrandFacts(name="Acme", domain="acme.fr"))

    assert [one.json["num"] for one in asked] == [100, 100, 100]
    assert all('site:linkedin.com/in "Acme"' in one.json["q"] for one in asked)
    assert sum(" OR " in one.json["q"] for one in asked) == 2
    assert (asked[2].json["gl"], asked[2].json["hl"]) == ("fr", "fr")


async def test_who_has_enough_people_pays_for_no_more_questions() -> None:
    people = [
        {
            "title": f"Jo {name} - Head of Social - Acme",
            "url": f"https://linkedin.com/in/{name}",
        }
        for name in (f"roe{chr(97 + n)}" for n in range(26))
    ]
    client = Played(always(ok({"web": {"results": people}})))

    answer = await source_of(BY_NAME["brave"], client).find(ACME, limit=100)

    assert len(client.asked) == 1
    assert len(answer.people) == 26


async def test_hunter_is_asked_for_people_who_may_decide() -> None:
    (asked,) = await asked_of(BY_NAME["hunter"], addresses=30)

    assert asked.params == {
        "domain": "acme.example",
        "type": "personal",
        "department": "marketing,communication,management",
        "seniority": "senior,executive",
        "limit": "30",
    }
    (by_name,) = await asked_of(BY_NAME["hunter"], BrandFacts(name="Acme"))
    assert by_name.params["company"] == "Acme"


async def test_what_hunter_names_is_a_candidate_and_no_webmail_domain_is_a_company() -> None:
    service = BY_NAME["hunter"]
    answer = await source_of(service, Played(service.says)).find(ACME, limit=50)

    assert answer.people[0] == Sighting(
        full_name="Jane Doe",
        first_name="Jane",
        last_name="Doe",
        headline="Head of Influencer Marketing",
        company="Acme",
        linkedin_url=JANE,
        addresses=("jane.doe@acme.example",),
        source="hunter",
    )
    body = json.loads(service.says(Asked("GET", "", {"domain": "acme.example"}, {}))[2])
    for flag in ("webmail", "disposable"):
        odd = {"data": body["data"] | {flag: True}}
        nobody = await source_of(service, Played(always(ok(odd)))).find(ACME, limit=50)
        assert (nobody.ended, nobody.people) == (SourceStatus.NO_RESULTS, ())


async def test_people_data_labs_is_asked_with_employer_role_and_level_for_few_records() -> None:
    (asked,) = await asked_of(BY_NAME["pdl"], records=7)

    must = asked.json["query"]["bool"]["must"]
    assert {"term": {"job_company_website": "acme.example"}} in must
    assert {"terms": {"job_title_levels": ["manager", "director", "vp", "cxo"]}} in must
    assert any("job_title_role" in each.get("terms", {}) for each in must)
    assert asked.json["size"] == 7
    assert await asked_of(BY_NAME["pdl"], BrandFacts(name="Acme")) == []


async def test_people_data_labs_charges_for_records_and_not_for_nobody() -> None:
    service, budgets = BY_NAME["pdl"], MemoryBudgets()
    source = source_of(service, Played(service.says), budgets=budgets, records=9)
    await source.find(NOBODY, limit=50)
    assert (await budgets.spending())[0].micros_today == 0
    await source.find(ACME, limit=50)
    assert (await budgets.spending())[0].micros_today == 2 * 280_000


async def test_apollo_asks_by_name_only_for_those_in_a_role() -> None:
    asked = await asked_of(BY_NAME["apollo"])

    assert asked[0].json["q_organization_domains_list"] == ["acme.example"]
    assert [one.json["id"] for one in asked[1:]] == ["a1", "a2"]
    one_of_them = await asked_of(BY_NAME["apollo"], people=1)
    assert [one.json["id"] for one in one_of_them[1:]] == ["a1"], "who has an address"


async def test_people_of_apollo_found_before_a_refusal_are_told_with_it() -> None:
    service = BY_NAME["apollo"]

    def says(asked: Asked) -> Answer:
        return error(402) if (asked.json or {}).get("id") == "a2" else service.says(asked)

    answer = await source_of(service, Played(says)).find(ACME, limit=50)

    assert (answer.ended, answer.permanent) == (SourceStatus.FAILED, True)
    assert [who.full_name for who in answer.people] == ["Jane Doe"]
    assert answer.people[0].addresses == ("jane@acme.example",)


async def test_over_its_cap_a_source_says_so_and_keeps_whom_it_found() -> None:
    service = BY_NAME["brave"]
    for cap, found in ((0.0, []), (0.01, [JANE, JOSE])):
        client, budgets = Played(service.says), MemoryBudgets()
        source = source_of(service, client, budgets=budgets, usd_per_day=cap, burst=50)
        answer = await source.find(ACME, limit=50)

        assert answer.ended is SourceStatus.OVER_BUDGET
        assert [who.linkedin_url for who in answer.people] == found
        assert len(client.asked) == cap / 0.005


async def test_of_a_sub_brand_the_parent_s_people_are_asked_for_by_its_domain() -> None:
    kid = BrandFacts(
        name="Kid",
        domain="kid.example",
        parent_company="Acme",
        mail_domains=("kid.example", "kid.de", "acme.example"),
    )
    alone = BrandFacts(name="Kid", domain="kid.example", mail_domains=("kid.example", "kid.de"))
    wrong: list[object] = []
    for name, calls in {"hunter": (2, 1), "pdl": (2, 1), "apollo": (3, 1)}.items():
        played = [Played(BY_NAME[name].says) for _ in range(2)]
        found, nobody = [
            await source_of(BY_NAME[name], each).find(brand, limit=25)
            for each, brand in zip(played, (kid, alone), strict=True)
        ]
        companies = {person.company for person in found.people}
        if (len(found.people), companies, nobody.people) != (2, {"Acme"}, ()):
            wrong.append((name, found, nobody))
        if tuple(len(each.asked) for each in played) != calls:
            wrong.append((name, [each.says for one in played for each in one.asked]))

    assert not wrong


async def test_a_parent_s_people_are_bought_only_for_what_is_left_of_a_search() -> None:
    acme = BrandFacts(
        name="Acme",
        domain="acme.example",
        parent_company="Big",
        mail_domains=("acme.example", "big.example"),
    )
    hunter, pdl = [Played(BY_NAME[name].says) for name in ("hunter", "pdl")]
    await source_of(BY_NAME["hunter"], hunter).find(acme, limit=25)
    await source_of(BY_NAME["pdl"], pdl, records=3).find(acme, limit=25)

    assert len(hunter.asked) == 1, "somebody is at the brand itself"
    assert [each.json["size"] for each in pdl.asked] == [3, 1]


async def test_who_is_known_is_left_out_of_a_search_that_charges_for_each_person() -> None:
    known = (
        Sighting(full_name="Jane Doe", linkedin_url=JANE, source="searxng"),
        Sighting(full_name="José Núñez", source="hunter"),
    )
    played, without = Played(BY_NAME["pdl"].says), Played(BY_NAME["pdl"].says)
    source = IsolatedPeopleSource(source_of(BY_NAME["pdl"], played), metrics=Metrics())
    await source.find_new(ACME, limit=5, known=known)
    await find_new(source_of(BY_NAME["pdl"], without), ACME, limit=5, known=())
    other = await find_new(
        source_of(BY_NAME["hunter"], Played(BY_NAME["hunter"].says)), ACME, limit=5, known=known
    )

    assert played.asked[0].json["query"]["bool"]["must_not"] == [
        {"terms": {"linkedin_url": ["linkedin.com/in/jane-doe-1a"]}},
        {"terms": {"full_name": ["josé núñez"]}},
    ]
    assert "must_not" not in without.asked[0].json["query"]["bool"]
    assert other.people, "who has no such method is asked as ever"
