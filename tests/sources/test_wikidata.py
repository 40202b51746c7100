"""Wikidata as a brand source: what is read of its items, and how it fails."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from cs.domain.contact import BrandFacts, Query
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.contracts.stand_in import Answer, ServiceRequest, StandIn, source_context
from cs.plugins.entry_points import Group
from cs.plugins.sources import BrandAnswer, SourceStatus
from harness.clients import plugin
from sources.played_services import away, saying

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def snak(value: object) -> dict[str, Any]:
    return {"snaktype": "value", "property": "P0", "datavalue": {"value": value, "type": "x"}}


def statement(value: object, rank: str = "normal", ended: object = None) -> dict[str, Any]:
    said: dict[str, Any] = {"mainsnak": snak(value), "type": "statement", "rank": rank}
    if ended is not None:
        end = (
            {"snaktype": "somevalue"} if ended == "?" else snak({"time": ended, "precision": 9})
        )
        said["qualifiers"] = {"P582": [end]}
    return said


def ref(number: str) -> dict[str, object]:
    return {"entity-type": "item", "numeric-id": int(number[1:]), "id": number}


def item(
    label: str,
    *,
    aliases: tuple[str, ...] = (),
    kind: str = "Q4830453",
    language: str = "en",
    **claims: list[dict[str, Any]],
) -> dict[str, Any]:
    """An item as wbgetentities gives it; PHP's empty maps are lists."""
    return {
        "type": "item",
        "labels": {language: {"language": language, "value": label}},
        "aliases": {"en": [{"language": "en", "value": a} for a in aliases]} if aliases else [],
        "claims": {"P31": [statement(ref(kind))], **claims},
    }


def site(*urls: str) -> list[dict[str, Any]]:
    return [statement(url) for url in urls]


WORLD = {
    "Q10": item(
        "Acme",
        aliases=("Acme Beauty", "ACME Cosmetics"),
        P856=[
            statement("http://acme-old.example/", ended="+2019-00-00T00:00:00Z"),
            statement("https://acme-dep.example/", rank="deprecated"),
            statement("https://acme-shop.example/"),
            statement("https://www.acme.example/en/", rank="preferred"),
        ],
        P4264=[statement("Acme-Co")],
        P2003=[statement("acme.beauty")],
        P7085=[statement("acme")],
        P749=[statement(ref("Q90"))],
    ),
    "Q11": item("Acme Faucet", P856=site("https://acmefaucet.example")),
    "Q12": item("Acme", kind="Q5", P856=site("https://acme-the-singer.example")),
    "Q13": item("Acme"),
    "Q20": item("Delta", P856=site("https://delta-air.example")),
    "Q21": item("Delta", P856=site("https://delta-faucet.example")),
    "Q22": item("Deltaco", P856=site("https://deltaco.example")),
    "Q30": item("Nova", language="mul", P856=site("https://nova.example")),
    "Q31": item("Hosted", P856=site("https://www.facebook.com/hosted", "not a url")),
    "Q32": item(
        "Loose",
        P856=[statement("https://loose-1.example", ended="?"), *site("https://loose.example")],
        P127=[statement(ref("Q91"))],
    ),
    "Q33": item(
        "Listed",
        P856=site("https://listed.example"),
        P127=[statement(ref("Q90")), statement(ref("Q92"))],
    ),
    "Q34": item(
        "Future", P856=[statement("https://future.example", ended="+2027-01-01T00:00:00Z")]
    ),
    "Q90": item("Globex", language="mul", P856=site("https://www.globex.example")),
    "Q91": item("Jo Owner", kind="Q5", P856=site("https://jo.example")),
    "Q92": item("Fund", P856=site("https://fund.example")),
}


World = Mapping[str, Any]


def wikidata(asked: ServiceRequest, world: World = WORLD) -> object:
    query = asked.params
    match query["action"]:
        case "wbsearchentities":
            text = query["search"].casefold()
            hits = [hit for number in world if (hit := found(world, number, text))]
            return {"searchinfo": {"search": text}, "search": hits, "success": 1}
        case "wbgetentities":
            numbers = query["ids"].split("|")
            items = {n: world.get(n, {"missing": ""}) | {"id": n} for n in numbers}
            return {"entities": items, "success": 1}
        case other:
            raise AssertionError(other)


def found(world: World, number: str, text: str) -> dict[str, Any] | None:
    names = [*(label["value"] for label in world[number]["labels"].values())]
    if isinstance(world[number]["aliases"], dict):
        names += [alias["value"] for alias in world[number]["aliases"]["en"]]
    for name in names:
        if name.casefold().startswith(text):
            return {"id": number, "label": names[0], "match": {"type": "label", "text": name}}
    return None


def source(client: StandIn, url: str = "http://127.0.0.1:9/w/api.php") -> Any:
    context = replace(source_context(client, url=url), now=lambda: NOW)
    return plugin(Group.BRAND_SOURCES, "wikidata", context)


async def ask(
    query: Query, known: BrandFacts | None = None, answer: Answer = wikidata
) -> BrandAnswer:
    found: BrandAnswer = await source(StandIn(answer)).find(query, known)
    return found


MAX_LAG = json.dumps(
    {"error": {"code": "maxlag", "info": "Waiting for 10.0.0.1: 7 seconds lagged.", "lag": 7}}
).encode()

FAILED, LIMITED = SourceStatus.FAILED, SourceStatus.RATE_LIMITED
ERROR = b'{"error":{"code":"%s","info":"x"},"servedby":"mw1"}'
OUT_OF_ORDER: list[tuple[Answer, SourceStatus, float | None]] = [
    (saying(MAX_LAG, retry_after="9"), LIMITED, 9.0),
    (saying(MAX_LAG), LIMITED, 5.0),
    (saying(b"slow down", status=429, retry_after="30"), LIMITED, 30.0),
    (saying(b"", status=429, retry_after="soon"), LIMITED, 5.0),
    (saying(b"", status=503, retry_after="3"), LIMITED, 3.0),
    (saying(b"", status=503), FAILED, None),
    (saying(b"Please set a user-agent", status=403), FAILED, None),
    (saying(b"<!doctype html><title>Wikimedia Error</title>"), FAILED, None),
    (saying(b'{"search": [{"id": "Q1", "la'), FAILED, None),
    (saying(b'{"search": "none"}'), FAILED, None),
    (saying(b"[" * 100_000), FAILED, None),
    (saying(b""), FAILED, None),
    (saying(ERROR % b"ratelimited"), LIMITED, None),
    (saying(ERROR % b"internal_api_error"), FAILED, None),
    (away, FAILED, None),
]


class TestWikidataIsABrandSource(BrandSourceContract):
    @pytest.fixture
    def case(self) -> BrandSourceCase:
        broken = {str(n): source(StandIn(each[0])) for n, each in enumerate(OUT_OF_ORDER)}
        broken["without a URL"] = source(StandIn(wikidata), url="")
        works = source(StandIn(wikidata))
        return BrandSourceCase(works, Query("Acme"), Query("Nobody"), broken)


async def test_everything_wikidata_knows_of_a_brand_is_reported() -> None:
    answer = await ask(Query(brand="acme"))

    best = answer.matches[0]
    assert (best.key, best.score) == ("Q10", 0.9)
    assert best.facts == BrandFacts(
        name="Acme",
        domain="acme.example",
        linkedin_company_url="https://www.linkedin.com/company/acme-co",
        parent_company="Globex",
        instagram="https://www.instagram.com/acme.beauty",
        tiktok="https://www.tiktok.com/@acme",
        aliases=("Acme Beauty", "ACME Cosmetics"),
        mail_domains=("acme.example", "globex.example"),
    )


def scores(answer: BrandAnswer) -> dict[str, float]:
    return {match.key: match.score for match in answer.matches}


async def test_a_match_scores_by_name_and_by_domain() -> None:
    for query, expected in (
        # People and things without a site are no brands.
        (Query("Acme"), {"Q10": 0.9, "Q11": 0.5}),
        (Query("ACME beauty"), {"Q10": 0.9}),
        (Query("Acme Fau"), {"Q11": 0.5}),
        (Query("Delta"), {"Q20": 0.9, "Q21": 0.9, "Q22": 0.5}),
        (Query("Delta", "delta-faucet.example"), {"Q21": 1.0, "Q20": 0.9, "Q22": 0.5}),
        (Query(None, "globex.example"), {"Q90": 1.0}),
        (Query(None, "delta.example"), {}),
        (Query("Acme", "globex.example"), {"Q90": 1.0, "Q10": 0.9, "Q11": 0.5}),
        (Query("Hosted"), {}),  # a page at a service is nobody's domain
    ):
        answer = await ask(query)

        assert scores(answer) == expected, query
        assert list(scores(answer).values()) == sorted(expected.values(), reverse=True)
        assert answer.ended is (SourceStatus.USED if expected else SourceStatus.NO_RESULTS)


def articles(*counts: int, label: str = "Nike") -> dict[str, Any]:
    """A world of brands called alike, each with articles in so many Wikipedias."""
    return {
        f"Q{40 + place}": item(label, P856=site(f"https://nike-{place}.example"))
        | {"sitelinks": {f"l{n}wiki": {"title": label} for n in range(count)}}
        for place, count in enumerate(counts)
    }


async def test_a_famous_brand_stands_out_among_obscure_ones_of_its_name() -> None:
    no_wikipedias: dict[str, Any] = articles(0, 0)
    quotes: dict[str, Any] = {f"l{n}wikiquote": {} for n in range(90)}
    no_wikipedias["Q40"]["sitelinks"] = quotes | {"commonswiki": {}}
    no_wikipedias["Q41"]["sitelinks"] = []  # as PHP writes an empty map
    for world, expected in (
        (articles(90, 1, 0), {"Q40": 0.9, "Q41": 0.5, "Q42": 0.5}),
        (articles(1, 90), {"Q41": 0.9, "Q40": 0.5}),
        (articles(90, 30), {"Q40": 0.9, "Q41": 0.9}),  # both are well known
        (articles(5, 0), {"Q40": 0.9, "Q41": 0.9}),  # neither is
        (no_wikipedias, {"Q40": 0.9, "Q41": 0.9}),
        # A famous brand of another spelling replaces nobody.
        (
            {"Q10": item("Nike", P856=site("https://n.example"))}
            | articles(90, label="The Nike"),
            {"Q10": 0.9},
        ),
    ):
        answers = partial(wikidata, world=world)
        at_home = await ask(Query("Nike", "nike-1.example"), answer=answers)

        assert scores(await ask(Query("Nike"), answer=answers)) == expected
        assert all(match.score > 0.8 for match in at_home.matches), "a domain decides by itself"


async def test_what_is_known_already_is_asked_for_instead() -> None:
    known = BrandFacts(name="Delta", domain="delta-air.example")

    answer = await ask(Query(brand="Something else"), known)

    assert answer.matches[0].key == "Q20"


async def test_odd_statements_are_read_as_meant() -> None:
    for brand, domain in (
        ("Nova", "nova.example"),  # labelled once for all languages
        ("Loose", "loose.example"),  # ended, nobody knows when; owned by a person
        ("Listed", "listed.example"),  # two owners are shareholders
        ("Future", "future.example"),  # ends, but not yet
    ):
        facts = (await ask(Query(brand=brand))).matches[0].facts

        assert (facts.name, facts.domain, facts.parent_company) == (brand, domain, None)


async def test_each_way_to_fail_is_reported_as_what_it_is() -> None:
    for answer, ended, retry_in_s in OUT_OF_ORDER:
        told = await ask(Query(brand="Acme"), answer=answer)

        assert (told.ended, told.retry_in_s) == (ended, retry_in_s)


async def test_requests_are_as_wikidata_wants_them() -> None:
    client = StandIn(wikidata)
    asked = source(client)
    await asked.find(Query(brand="Acme & Söhne"), None)
    await asked.find(Query(brand="Acme"), None)

    queries = [one.params for one in client.asked]
    assert [query["action"] for query in queries] == [
        "wbsearchentities",
        "wbsearchentities",
        "wbgetentities",
        "wbgetentities",
    ]
    assert queries[0]["search"] == "Acme & Söhne"
    assert all(query["maxlag"] == "5" and query["format"] == "json" for query in queries)
