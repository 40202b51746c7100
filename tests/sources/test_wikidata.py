import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cs.domain.contact import BrandFacts, Query
from cs.outside.http import TrustedClient
from cs.plugins.contracts.brand_source import BrandSourceCase, BrandSourceContract
from cs.plugins.sources import BrandAnswer, SourceStatus
from cs.sources.brand.wikidata import WikidataSource
from outside.loopback_web import Answer, Web, WebRequest, reply, serve

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


async def wikidata(asked: WebRequest, writer: asyncio.StreamWriter) -> None:
    query = {name: texts[0] for name, texts in parse_qs(urlsplit(asked.path).query).items()}
    match query["action"]:
        case "wbsearchentities":
            text = query["search"].casefold()
            said: dict[str, Any] = {
                "searchinfo": {"search": query["search"]},
                "search": [hit for number in WORLD if (hit := found(number, text))],
                "success": 1,
            }
        case "wbgetentities":
            said = {
                "entities": {
                    number: WORLD.get(number, {"missing": ""}) | {"id": number}
                    for number in query["ids"].split("|")
                },
                "success": 1,
            }
        case other:
            raise AssertionError(other)
    reply(writer, json.dumps(said).encode(), headers={"content-type": "application/json"})


def found(number: str, text: str) -> dict[str, Any] | None:
    names = [*(label["value"] for label in WORLD[number]["labels"].values())]
    if isinstance(WORLD[number]["aliases"], dict):
        names += [alias["value"] for alias in WORLD[number]["aliases"]["en"]]
    for name in names:
        if name.casefold().startswith(text):
            return {"id": number, "label": names[0], "match": {"type": "label", "text": name}}
    return None


def saying(
    body: bytes, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    async def answer(_: WebRequest, writer: asyncio.StreamWriter) -> None:
        reply(writer, body, status=status, headers=headers)

    return answer


def source(client: TrustedClient, web: Web) -> WikidataSource:
    return WikidataSource(client, base_url=f"{web.url}/w/api.php", now=lambda: NOW)


@asynccontextmanager
async def asking(answer: Answer) -> AsyncIterator[tuple[WikidataSource, Web]]:
    async with (
        serve(answer) as web,
        TrustedClient(user_agent="cs (ops@acme.example)") as client,
    ):
        yield source(client, web), web


async def ask(
    query: Query, known: BrandFacts | None = None, answer: Answer = wikidata
) -> BrandAnswer:
    async with asking(answer) as (brand_source, _):
        return await brand_source.find(query, known)


MAX_LAG = json.dumps(
    {"error": {"code": "maxlag", "info": "Waiting for 10.0.0.1: 7 seconds lagged.", "lag": 7}}
).encode()

OUT_OF_ORDER: list[tuple[Answer, SourceStatus, float | None]] = [
    (saying(MAX_LAG, headers={"Retry-After": "9"}), SourceStatus.RATE_LIMITED, 9.0),
    (saying(MAX_LAG), SourceStatus.RATE_LIMITED, 5.0),
    (
        saying(b"slow down", status=429, headers={"Retry-After": "30"}),
        SourceStatus.RATE_LIMITED,
        30.0,
    ),
    (
        saying(b"", status=429, headers={"Retry-After": "Sat, 21 Nov 2026 12:01:00 GMT"}),
        SourceStatus.RATE_LIMITED,
        60.0,
    ),
    (saying(b"", status=429, headers={"Retry-After": "soon"}), SourceStatus.RATE_LIMITED, 5.0),
    (saying(b"", status=503, headers={"Retry-After": "3"}), SourceStatus.RATE_LIMITED, 3.0),
    (saying(b"", status=503), SourceStatus.FAILED, None),
    (saying(b"<h1>Internal error", status=500), SourceStatus.FAILED, None),
    (saying(b"Please set a user-agent", status=403), SourceStatus.FAILED, None),
    (saying(b"<!doctype html><title>Wikimedia Error</title>"), SourceStatus.FAILED, None),
    (saying(b'{"search": [{"id": "Q1", "la'), SourceStatus.FAILED, None),
    (saying(b'{"search": "none"}'), SourceStatus.FAILED, None),
    (saying(b"[" * 100_000), SourceStatus.FAILED, None),
    (saying(b""), SourceStatus.FAILED, None),
    (
        saying(b'{"error":{"code":"ratelimited","info":"Too fast"},"servedby":"mw1"}'),
        SourceStatus.RATE_LIMITED,
        None,
    ),
    (saying(b'{"error":{"code":"internal_api_error","info":"x"}}'), SourceStatus.FAILED, None),
]


class TestWikidataIsABrandSource(BrandSourceContract):
    @pytest.fixture
    async def case(self) -> AsyncIterator[BrandSourceCase]:
        async with AsyncExitStack() as stack:
            works, _ = await stack.enter_async_context(asking(wikidata))
            broken = [
                (await stack.enter_async_context(asking(answer)))[0]
                for answer, _, _ in OUT_OF_ORDER
            ]
            client = await stack.enter_async_context(TrustedClient(user_agent="x"))
            broken += [
                WikidataSource(
                    client, base_url="http://127.0.0.1:9/w/api.php", now=lambda: NOW
                ),
                WikidataSource(client, base_url=None, now=lambda: NOW),
            ]
            yield BrandSourceCase(
                works, Query(brand="Acme"), Query(brand="Nobody"), tuple(broken)
            )


async def test_everything_wikidata_knows_of_a_brand_is_told() -> None:
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


async def test_people_and_things_without_a_site_are_no_brands() -> None:
    answer = await ask(Query(brand="Acme"))

    assert [(match.key, match.score) for match in answer.matches] == [
        ("Q10", 0.9),
        ("Q11", 0.5),
    ]


@pytest.mark.parametrize(("name", "score"), [("ACME beauty", 0.9), ("Acme Fau", 0.5)])
async def test_an_alias_counts_as_a_name_and_a_part_of_one_does_not(
    name: str, score: float
) -> None:
    answer = await ask(Query(brand=name))

    assert [match.score for match in answer.matches] == [score]


async def test_two_brands_of_one_name_score_alike() -> None:
    answer = await ask(Query(brand="Delta"))

    assert [(match.key, match.score) for match in answer.matches] == [
        ("Q20", 0.9),
        ("Q21", 0.9),
        ("Q22", 0.5),
    ]


def articles(*counts: int, label: str = "Nike") -> dict[str, Any]:
    """A world of brands called alike, each with articles in so many Wikipedias."""
    return {
        f"Q{40 + place}": item(label, P856=site(f"https://nike-{place}.example"))
        | {"sitelinks": {f"l{n}wiki": {"title": label} for n in range(count)}}
        for place, count in enumerate(counts)
    }


@pytest.mark.parametrize(
    ("counts", "scores"),
    [
        ((90, 1, 0), [0.9, 0.5, 0.5]),
        ((1, 90), [0.9, 0.5]),
        ((90, 30), [0.9, 0.9]),  # both are well known
        ((5, 0), [0.9, 0.9]),  # nobody is
        ((90,), [0.9]),
    ],
)
async def test_a_famous_brand_stands_out_among_obscure_ones_of_its_name(
    counts: tuple[int, ...], scores: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "WORLD", articles(*counts))

    answer = await ask(Query(brand="Nike"))
    at_home = await ask(Query(brand="Nike", domain="nike-1.example"))

    assert [match.score for match in answer.matches] == scores
    assert answer.matches[0].key == f"Q{40 + counts.index(max(counts))}"
    assert all(match.score >= 0.9 for match in at_home.matches), "a domain decides by itself"


async def test_sites_that_are_no_wikipedias_make_nobody_famous(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    quotes: dict[str, Any] = {f"l{n}wikiquote": {} for n in range(90)} | {"commonswiki": {}}
    world = articles(0, 0)
    world["Q40"]["sitelinks"] = quotes
    world["Q41"]["sitelinks"] = []  # as PHP writes an empty map
    monkeypatch.setattr(sys.modules[__name__], "WORLD", world)

    answer = await ask(Query(brand="Nike"))

    assert [match.score for match in answer.matches] == [0.9, 0.9]


async def test_a_famous_brand_of_another_spelling_replaces_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    famous = articles(90, label="The Nike")
    world = {"Q10": item("Nike", P856=site("https://nike.example")), **famous}
    monkeypatch.setattr(sys.modules[__name__], "WORLD", world)

    answer = await ask(Query(brand="Nike"))

    assert [(match.key, match.score > 0.8) for match in answer.matches][:1] == [("Q10", True)]


async def test_the_asked_domain_decides_between_them() -> None:
    answer = await ask(Query(brand="Delta", domain="delta-faucet.example"))

    assert (answer.matches[0].key, answer.matches[0].score) == ("Q21", 1.0)
    assert answer.matches[1].score <= 0.9


async def test_a_domain_alone_finds_only_the_brand_at_home_there() -> None:
    found = await ask(Query(domain="globex.example"))
    other_site = await ask(Query(domain="delta.example"))

    assert [(match.key, match.score) for match in found.matches] == [("Q90", 1.0)]
    assert (other_site.ended, other_site.matches) == (SourceStatus.NO_RESULTS, ())


async def test_a_brand_asked_with_its_parents_domain_is_found_beside_the_parent() -> None:
    answer = await ask(Query(brand="Acme", domain="globex.example"))

    told = {match.key: match for match in answer.matches}
    assert told["Q90"].score == 1.0
    assert told["Q10"].score == 0.9
    assert "globex.example" in told["Q10"].facts.mail_domains


async def test_what_is_known_already_is_asked_for_instead() -> None:
    known = BrandFacts(name="Delta", domain="delta-air.example")

    answer = await ask(Query(brand="Something else"), known)

    assert answer.matches[0].key == "Q20"


@pytest.mark.parametrize(
    ("brand", "domain", "parent"),
    [
        ("Nova", "nova.example", None),  # labelled once for all languages
        ("Loose", "loose.example", None),  # ended, nobody knows when; owned by a person
        ("Listed", "listed.example", None),  # two owners are shareholders
        ("Future", "future.example", None),  # ends, but not yet
    ],
)
async def test_odd_statements_are_read_as_meant(
    brand: str, domain: str, parent: str | None
) -> None:
    facts = (await ask(Query(brand=brand))).matches[0].facts

    assert (facts.name, facts.domain, facts.parent_company) == (brand, domain, parent)


async def test_a_page_at_a_service_is_nobodys_domain() -> None:
    answer = await ask(Query(brand="Hosted"))

    assert answer.ended is SourceStatus.NO_RESULTS


@pytest.mark.parametrize(("answer", "ended", "retry_in_s"), OUT_OF_ORDER)
async def test_each_way_to_fail_is_told_as_what_it_is(
    answer: Answer, ended: SourceStatus, retry_in_s: float | None
) -> None:
    told = await ask(Query(brand="Acme"), answer=answer)

    assert (told.ended, told.retry_in_s) == (ended, retry_in_s)


async def test_requests_are_as_wikidata_wants_them() -> None:
    async with asking(wikidata) as (brand_source, web):
        await brand_source.find(Query(brand="Acme & Söhne"), None)
        await brand_source.find(Query(brand="Acme"), None)

    queries = [parse_qs(urlsplit(asked.path).query) for asked in web.asked]
    assert [query["action"] for query in queries] == [
        ["wbsearchentities"],
        ["wbsearchentities"],
        ["wbgetentities"],
        ["wbgetentities"],
    ]
    assert queries[0]["search"] == ["Acme & Söhne"]
    assert all(query["maxlag"] == ["5"] and query["format"] == ["json"] for query in queries)
    assert {asked.headers["user-agent"] for asked in web.asked} == {"cs (ops@acme.example)"}
