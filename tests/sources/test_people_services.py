"""Brave, Serper, Hunter, People Data Labs and Apollo: each does what every source of its kind
does, reads the shapes of its service, and reports each of its faults as what it is."""

import json
from typing import Any, TypeVar

import pytest

from cs.domain.contact import BrandFacts, Query, Sighting
from cs.outside.port import Response
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.contracts.stand_in import ServiceRequest, StandIn, out_of_order
from cs.plugins.entry_points import Group
from cs.plugins.isolated import IsolatedPeopleSource
from cs.plugins.sources import SourceStatus, find_new
from harness.clients import trusted_client
from harness.places import budgets_in
from sources.people_services import (
    JANE,
    JOSE,
    KEY,
    SERVICES,
    Respond,
    Service,
    always,
    error,
    ok,
    says,
    source_of,
)
from sources.played_services import on_port

T = TypeVar("T")
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
        broken = out_of_order(lambda client: source_of(service, client))
        for number, (answer, *_) in enumerate(service.own_faults):
            broken[f"own fault {number}"] = source_of(service, StandIn(always(answer)))
        broken["without a key"] = source_of(service, StandIn(service.says), key="")
        works = source_of(service, StandIn(service.says))
        return PeopleSourceCase(works, ACME, NOBODY, broken)


@pytest.mark.parametrize(
    ("body", "charged"),
    [
        ({"errors": ["went wrong"]}, False),
        ({"errors": ["went wrong"], "data": {"emails": [{"value": "x"}]}}, True),
        ({"errors": ["no credits left"], "data": {"emails": [{"value": "x"}]}}, False),
    ],
)
async def test_an_error_next_to_results_may_have_been_charged(body: Any, charged: bool) -> None:
    service, budgets = BY_NAME["hunter"], budgets_in(None)
    answer = await source_of(service, StandIn(always(ok(body))), budgets=budgets).find(
        ACME, limit=50
    )
    (spent,) = await budgets.spending()

    assert answer.ended is SourceStatus.FAILED
    assert (spent.micros_today > 0) is charged


async def test_on_a_real_server_each_finds_its_people_for_its_price(service: Service) -> None:
    budgets = budgets_in(None)
    with on_port(service.says) as played:
        async with trusted_client() as client:
            url = f"{played.url}/v9"
            source = source_of(service, client, budgets=budgets, url=url, burst=50)
            answer = await source.find(ACME, limit=50)
    (spent,) = await budgets.spending()

    assert [each.full_name for each in answer.people] == ["Jane Doe", "José Núñez"]
    assert {each.source for each in answer.people} == {service.name}
    assert all("Acme" in (each.company or "") for each in answer.people)
    assert answer.people[0].linkedin_url == JANE
    assert (len(played.asked), spent.micros_today) == (service.calls, round(service.usd * 1e6))
    assert {got.headers.get(service.key_header) for got in played.asked} == {KEY}
    assert all(
        got.path.startswith("/v9/") and KEY not in str(got.params) for got in played.asked
    )
    assert source.cost >= service.usd


async def test_its_own_faults_are_reported_as_what_they_are(service: Service) -> None:
    for fault, ended, permanent in service.own_faults:
        answer = await source_of(service, StandIn(always(fault))).find(ACME, limit=50)

        assert (answer.ended.value, answer.permanent, answer.people) == (ended, permanent, ())
        assert answer.why
        assert KEY not in answer.why


async def test_a_fault_of_any_service_says_what_to_do_and_when() -> None:
    for fault, ended, retry_in_s, permanent in (
        (error(401), "failed", None, True),
        (error(402), "failed", None, True),
        (error(429, retry_after="9"), "rate_limited", 9.0, False),
        (error(503, retry_after="9"), "failed", 9.0, False),
        (ok({"data": 1}), "failed", None, False),
    ):
        answer = await source_of(BY_NAME["pdl"], StandIn(always(fault))).find(ACME, limit=50)

        found = (answer.ended.value, answer.retry_in_s, answer.permanent)
        assert found == (ended, retry_in_s, permanent)


async def test_a_check_costs_little_and_says_what_is_left(service: Service) -> None:
    budgets, client = budgets_in(None), StandIn(service.says)
    check = await source_of(service, client, budgets=budgets).check()
    (spent,) = await budgets.spending()

    assert (check.ended, check.left) == ("works", service.check_left)
    assert check.usd == service.check_usd == check.usd_today == spent.micros_today / 1e6
    assert (check.usd_per_day, check.usd_per_month) == (10.0, 100.0)
    assert len(client.asked) == 1
    without = await source_of(service, client, key="").check()
    assert without.ended == "not-configured"
    assert without.why == f"set sources.{service.name}.key"
    refused = await source_of(service, StandIn(always(error(401)))).check()
    assert refused.ended == "key-refused"


# What is asked of each.


async def asked_of(
    service: Service, brand: BrandFacts = ACME, **settings: Any
) -> list[ServiceRequest]:
    client = StandIn(service.says)
    await source_of(service, client, **settings).find(brand, limit=50)
    return client.asked


async def test_engines_are_asked_within_their_limits_in_the_market_of_the_brand() -> None:
    brand = BrandFacts(name="Very Long Name " * 60, domain="acme.de")
    brave = await asked_of(BY_NAME["brave"], brand)
    serper = await asked_of(BY_NAME["serper"], BrandFacts(name="Acme", domain="acme.fr"))

    assert len(brave) == 5
    assert all(len(one.params["q"]) <= 400 for one in brave)
    assert all(len(one.params["q"].split()) <= 50 for one in brave)
    assert all(one.params["count"] == "20" for one in brave)
    assert [one.params.get("country") for one in brave] == [None] * 4 + ["de"]
    assert [one.json["num"] for one in serper] == [100, 100, 100]
    assert all('site:linkedin.com/in "Acme"' in one.json["q"] for one in serper)
    assert sum(" OR " in one.json["q"] for one in serper) == 2
    assert (serper[2].json["gl"], serper[2].json["hl"]) == ("fr", "fr")


async def test_enough_people_end_the_paid_questions() -> None:
    people = [
        {"title": f"Jo Roe{at} - Head of Social - Acme", "url": f"https://linkedin.com/in/{at}"}
        for at in "abcdefghijklmnopqrstuvwxyz"
    ]
    client = StandIn(always(ok({"web": {"results": people}})))

    answer = await source_of(BY_NAME["brave"], client).find(ACME, limit=100)

    assert (len(client.asked), len(answer.people)) == (1, 26)


async def test_hunter_is_asked_for_people_who_may_decide_and_names_candidates() -> None:
    service = BY_NAME["hunter"]
    (asked,) = await asked_of(service, addresses=30)
    answer = await source_of(service, StandIn(service.says)).find(ACME, limit=50)

    assert asked.params == {
        "domain": "acme.example",
        "type": "personal",
        "department": "marketing,communication,management",
        "seniority": "senior,executive",
        "limit": "30",
    }
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
    body = json.loads(service.says(ServiceRequest("", {"domain": "acme.example"}, {})).body)
    for flag in ("webmail", "disposable"):
        odd = {"data": body["data"] | {flag: True}}
        nobody = await source_of(service, StandIn(always(ok(odd)))).find(ACME, limit=50)
        assert (nobody.ended, nobody.people) == (SourceStatus.NO_RESULTS, ())


async def test_people_data_labs_is_asked_with_employer_role_and_level_for_few_records() -> None:
    (asked,) = await asked_of(BY_NAME["pdl"], records=7)

    must = asked.json["query"]["bool"]["must"]
    assert {"term": {"job_company_website": "acme.example"}} in must
    assert {"terms": {"job_title_levels": ["manager", "director", "vp", "cxo"]}} in must
    assert any("job_title_role" in each.get("terms", {}) for each in must)
    assert asked.json["size"] == 7
    assert await asked_of(BY_NAME["pdl"], BrandFacts(name="Acme")) == []


async def test_people_data_labs_charges_for_records_alone() -> None:
    service, budgets = BY_NAME["pdl"], budgets_in(None)
    source = source_of(service, StandIn(service.says), budgets=budgets, records=9)
    await source.find(NOBODY, limit=50)
    assert (await budgets.spending())[0].micros_today == 0
    await source.find(ACME, limit=50)
    assert (await budgets.spending())[0].micros_today == 2 * 280_000


async def test_apollo_asks_by_name_for_those_in_a_role_and_keeps_the_people_found() -> None:
    service = BY_NAME["apollo"]
    asked, one_of_them = await asked_of(service), await asked_of(service, people=1)

    def refusing(asked: ServiceRequest) -> Response:
        return error(402) if (asked.json or {}).get("id") == "a2" else service.says(asked)

    answer = await source_of(service, StandIn(refusing)).find(ACME, limit=50)

    assert asked[0].json["q_organization_domains_list"] == ["acme.example"]
    assert [one.json["id"] for one in asked[1:]] == ["a1", "a2"]
    assert [one.json["id"] for one in one_of_them[1:]] == ["a1"], "who has an address"
    assert (answer.ended, answer.permanent) == (SourceStatus.FAILED, True)
    assert [who.addresses for who in answer.people] == [("jane@acme.example",)]


async def test_over_its_cap_a_source_says_so_and_keeps_the_people_found() -> None:
    service = BY_NAME["brave"]
    for cap, found in ((0.0, []), (0.01, [JANE, JOSE])):
        client, budgets = StandIn(service.says), budgets_in(None)
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
    for name, calls in {"hunter": (2, 1), "pdl": (2, 1), "apollo": (3, 1)}.items():
        of_parent, of_nobody = [StandIn(BY_NAME[name].says) for _ in range(2)]
        found = await source_of(BY_NAME[name], of_parent).find(kid, limit=25)
        nobody = await source_of(BY_NAME[name], of_nobody).find(alone, limit=25)

        assert [person.company for person in found.people] == ["Acme"] * 2
        assert nobody.people == ()
        assert (len(of_parent.asked), len(of_nobody.asked)) == calls


async def test_a_parent_s_people_are_bought_only_for_what_is_left_of_a_search() -> None:
    acme = BrandFacts(
        name="Acme",
        domain="acme.example",
        parent_company="Big",
        mail_domains=("acme.example", "big.example"),
    )
    hunter, pdl = await asked_of(BY_NAME["hunter"], acme), StandIn(BY_NAME["pdl"].says)
    await source_of(BY_NAME["pdl"], pdl, records=3).find(acme, limit=25)

    assert len(hunter) == 1, "somebody is at the brand itself"
    assert [each.json["size"] for each in pdl.asked] == [3, 1]


async def test_known_people_are_left_out_of_a_search_that_charges_for_each_person() -> None:
    known = (
        Sighting(full_name="Jane Doe", linkedin_url=JANE, source="searxng"),
        Sighting(full_name="José Núñez", source="hunter"),
    )
    played, without = StandIn(BY_NAME["pdl"].says), StandIn(BY_NAME["pdl"].says)
    source = IsolatedPeopleSource(source_of(BY_NAME["pdl"], played))
    await source.find_new(ACME, limit=5, known=known)
    await find_new(source_of(BY_NAME["pdl"], without), ACME, limit=5, known=())
    other = await find_new(
        source_of(BY_NAME["hunter"], StandIn(BY_NAME["hunter"].says)),
        ACME,
        limit=5,
        known=known,
    )

    assert played.asked[0].json["query"]["bool"]["must_not"] == [
        {"terms": {"linkedin_url": ["linkedin.com/in/jane-doe-1a"]}},
        {"terms": {"full_name": ["josé núñez"]}},
    ]
    assert "must_not" not in without.asked[0].json["query"]["bool"]
    assert other.people, "who has no such method is asked as ever"


# Brand sources with a key, which only hint.


def panel_says(asked: ServiceRequest) -> Response:
    if "Acme" not in says(asked):
        return ok({"organic": [], "credits": 1})
    results = [
        {"title": "Acme - Wikipedia", "link": "https://en.wikipedia.org/wiki/Acme"},
        {"title": "Acme: Home", "link": "https://www.acme.shop/en?x=1", "position": 2},
        {"title": "Acme on a shop", "link": "https://shop.example/acme"},
    ]
    panel = {"title": "ACME", "website": "https://www.acme.example/", "attributes": {}}
    return ok({"knowledgeGraph": panel, "organic": results, "credits": 1})


COMPANY = {
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


def company_says(asked: ServiceRequest) -> Response:
    return ok(COMPANY) if asked.params.get("name") == "Acme" else error(404)


HINTING: dict[str, Respond] = {"serper": panel_says, "pdl": company_says}
#: By service, what it hints at for Acme, and what that and nothing found cost in micro-dollars.
HINTS = {"serper": (["acme.example", "acme.shop"], 2_000), "pdl": (["acme.example"], 100_000)}


def hinting(name: str, client: Any, *, key: str = KEY, **more: Any) -> Any:
    budgets = getattr(client, "budgets", budgets_in(None))
    group = Group.BRAND_SOURCES
    return source_of(
        BY_NAME[name], client, key=key, budgets=budgets, group=group, burst=50, **more
    )


@pytest.fixture(params=sorted(HINTING))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class TestEveryHint(BrandSourceContract):
    @pytest.fixture
    def case(self, name: str) -> BrandSourceCase:
        broken = out_of_order(lambda client: hinting(name, client))
        works = hinting(name, StandIn(HINTING[name]))
        return BrandSourceCase(works, Query("Acme"), Query("Nobody At All"), broken)


async def test_a_hint_has_its_price_and_is_never_enough_by_itself(name: str) -> None:
    client, (hints, micros) = StandIn(HINTING[name]), HINTS[name]
    client.budgets = budgets = budgets_in(None)  # type: ignore[attr-defined]
    source = hinting(name, client)
    answer = await source.find(Query("Acme"), None)
    nobody = await source.find(Query("Nobody At All"), None)
    (spent,) = await budgets.spending()

    assert [match.facts.domain for match in answer.matches] == hints
    assert all(match.score < 0.1 for match in answer.matches)
    assert (nobody.ended, spent.micros_today) == (SourceStatus.NO_RESULTS, micros)
    asked = len(client.asked)
    for brand in (None, "Acme"):
        of_domain = await source.find(Query(brand, "acme.example"), None)
        assert of_domain.ended is SourceStatus.NO_RESULTS
    assert len(client.asked) == asked, "nothing is paid where a domain is asked"
    without = await hinting(name, client, key="").find(Query("Acme"), None)
    assert (without.ended, without.why) == (
        SourceStatus.NOT_CONFIGURED,
        f"set sources.{name}.key",
    )


async def test_a_company_has_its_page_and_its_other_names() -> None:
    answer = await hinting("pdl", StandIn(company_says)).find(Query("Acme"), None)

    assert answer.matches[0].facts == BrandFacts(
        name="Acme",
        domain="acme.example",
        linkedin_company_url="https://www.linkedin.com/company/acme-brands",
        aliases=("acme", "acme inc", "acme brands"),
        mail_domains=("acme.example",),
    )


async def test_another_company_or_one_without_a_site_is_no_hint() -> None:
    other_panel = {"title": "Acme Robotics", "website": "https://acme-robotics.example/"}
    first = {"title": "Acme", "link": "https://news.example/acme"}
    others = (
        {"display_name": "Acne Studios", "name": "acne studios", "alternative_names": []},
        {"website": None},
        {"website": "not a host"},
        {"display_name": None, "name": "Nobody", "alternative_names": None},
    )
    answers: list[tuple[str, Any]] = [("pdl", COMPANY | changed) for changed in others]
    answers += [("serper", {"knowledgeGraph": other_panel, "organic": [first]})]
    for name, said in answers:
        answer = await hinting(name, StandIn(always(ok(said)))).find(Query("Acme"), None)
        assert (answer.ended, answer.matches) == (SourceStatus.NO_RESULTS, ())
