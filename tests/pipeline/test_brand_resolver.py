"""Which brand is meant, from sources that live in this file."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import pytest

from cs.domain.contact import BrandFacts, Query
from cs.domain.stages.work import AnyFinding, Failed, ResolutionInput, Resolved, Work
from cs.plugins.sources import BrandAnswer, BrandMatch, BrandSource, SourceStatus
from domain.acme_run import AT
from harness.outside import stage


@dataclass
class Shelf:
    """A source that tells the same whatever is asked, and remembers what was asked."""

    name: str
    matches: tuple[BrandMatch, ...] = ()
    ended: SourceStatus | None = None
    retry_in_s: float | None = None
    asked: list[tuple[Query, BrandFacts | None]] = field(default_factory=list)

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        self.asked.append((query, known))
        return BrandAnswer(
            source=self.name,
            ended=self.ended
            or (SourceStatus.USED if self.matches else SourceStatus.NO_RESULTS),
            matches=self.matches,
            retry_in_s=self.retry_in_s,
        )


def match(
    score: float, name: str, domain: str | None, key: str = "", **facts: Any
) -> BrandMatch:
    mail = () if domain is None else (domain,)
    known = BrandFacts(name=name, domain=domain, mail_domains=mail)
    return BrandMatch(facts=msgspec.structs.replace(known, **facts), score=score, key=key)


def with_mail(one: BrandMatch, *mail: str) -> BrandMatch:
    facts = msgspec.structs.replace(one.facts, mail_domains=mail)
    return msgspec.structs.replace(one, facts=facts)


def directory(*matches: BrandMatch) -> Shelf:
    return Shelf("directory", matches)


def wikidata(*matches: BrandMatch) -> Shelf:
    return Shelf("wikidata", matches)


def website(*matches: BrandMatch) -> Shelf:
    return Shelf("website", matches)


async def resolve(
    sources: Sequence[BrandSource], brand: str | None = None, domain: str | None = None
) -> AnyFinding:
    work = Work(
        lookup="brand-a.1",
        stage="brand-resolution",
        attempt=1,
        deadline_at=AT,
        input=ResolutionInput(Query(brand, domain)),
    )

    async def report(_: AnyFinding) -> None:
        raise AssertionError

    return await stage("brand-resolution", brands=sources).handle(work, report)


async def resolved(
    sources: Sequence[BrandSource], brand: str | None = None, domain: str | None = None
) -> Resolved:
    found = await resolve(sources, brand, domain)
    assert isinstance(found, Resolved)
    assert found.matches is not None
    return found


async def facts_of(
    sources: Sequence[BrandSource], brand: str | None = None, domain: str | None = None
) -> BrandFacts:
    found = await resolved(sources, brand, domain)
    assert found.status == "matched"
    assert found.brand is not None
    return found.brand


# Which brand is meant.


class Case(NamedTuple):
    """The matches of sources, the question, and the result."""

    known: Sequence[BrandMatch]  # by the directory
    also: Sequence[BrandMatch] = ()  # by Wikidata
    site: Sequence[BrandMatch] = ()  # by the brand's own
    brand: str | None = None
    domain: str | None = None
    status: str = "matched"
    found: Mapping[str, object] = {}


NIKE, ADIDAS = match(0.97, "Nike", "nike.com"), match(1.0, "Adidas", "adidas.com")
CANOPY, HILTON = match(1.0, "Canopy", "hilton.com"), match(1.0, "Hilton", "hilton.com")
UNILEVER = match(1.0, "Unilever", "unilever.com", linkedin_company_url="li", instagram="ig")
DELTA = match(0.9, "Delta", "delta.com")
GALIL = match(0.9, "Delta", "deltagalil.com")
METRO = match(0.5, "Metro", "metro.de")
WORLDWIDE = match(1.0, "Hilton Worldwide", "hilton.com", instagram="ig:hilton")
#: A brand with a second site; another brand has that as its main one.
MALAYSIAN = with_mail(match(1.0, "FamilyMart", "fm.my"), "fm.my", "fm.tw")
TAIWANESE = match(1.0, "FamilyMart", "fm.tw", instagram="ig:tw")
FOOS = (match(0.9, "Emporio Foo", "foo.com"), match(0.9, "Giorgio Foo", "foo.com"))
KIDS = with_mail(match(1.0, "Gap", "gapinc.com", aliases=("Gap Kids",)), "gapinc.com", "g.com")
#: The pages of an owner's site, which are the owner's.
DOVE_AT_OWNER = match(
    1.0, "Dove", "unilever.com", instagram="ig:owner", linkedin_company_url="li:owner"
)

CASES = {
    "namesakes of one source": Case([DELTA, GALIL], brand="Delta", status="ambiguous"),
    "namesakes of two sources": Case([DELTA], [GALIL], brand="Delta", status="ambiguous"),
    "two main sites in one source": Case(
        [MALAYSIAN, TAIWANESE], brand="FamilyMart", status="ambiguous"
    ),
    "two domains of one brand by two sources": Case(
        [with_mail(match(0.9, "Gap", "gapinc.com"), "gapinc.com", "gap.com")],
        [match(0.9, "Gap", "gap.com")],
        brand="Gap",
        found={"domain": "gapinc.com", "mail_domains": ("gapinc.com", "gap.com")},
    ),
    "one item under two names": Case(
        [match(0.9, "BMW", "bmw.com", key="Q1")],
        [match(0.9, "Bayerische Motoren Werke", "bmwgroup.com", key="Q1")],
        brand="BMW",
        found={"name": "BMW", "mail_domains": ("bmw.com", "bmwgroup.com")},
    ),
    "accents that were not asked for": Case(
        [match(0.9, "Nike", "nike.com"), match(0.873, "Niké", "nike.sk")],
        brand="Nike",
        found={"domain": "nike.com"},
    ),
    "something similar": Case(
        [match(0.69, "Dalton Faucet", "dalton.com")], brand="Dalton", status="no_match"
    ),
    "a namesake without a site": Case(
        [NIKE], [match(0.97, "Nike", None)], brand="Nike", found={"domain": "nike.com"}
    ),
    "no site at all": Case(
        [match(0.9, "Acme Bank", None)],
        brand="Acme Bank",
        found={"domain": None, "mail_domains": ()},
    ),
    "likely together": Case(
        [METRO, match(0.4, "Metro", "metro.ca")],
        brand="Metro",
        status="ambiguous",
    ),
    "likely alone": Case(
        [match(0.5, "Dalton", "dalton.com")], brand="Dalton", status="no_match"
    ),
    "a word of many brands, alone": Case([METRO], brand="Metro", status="ambiguous"),
    "a word of many brands, of which the second source knows another": Case(
        [METRO], [match(0.9, "Metro", "metro.ca")], brand="Metro", status="ambiguous"
    ),
    "a word of many brands, known to the second source alone": Case(
        [], [match(0.9, "Atlas", "atlas.com")], brand="Atlas", status="ambiguous"
    ),
    "a name that is only like a word of many brands": Case(
        [match(0.8, "Metro", "metro.ca")], brand="Metrow", status="ambiguous"
    ),
    "a word of many brands with the legal form of one": Case(
        [match(0.97, "Metro AG", "metro.ca")], brand="Metro AG"
    ),
    "an unknown name next to a word of many brands": Case(
        [match(0.1, "Sun", "sun.com")], brand="Zorblax Kitchens", status="no_match"
    ),
    "a word of many brands, unknown": Case([], brand="Atlas", status="ambiguous"),
    "a domain among namesakes": Case(
        [match(1.0, "Delta", "deltagalil.com")],
        [DELTA],
        brand="Delta",
        domain="deltagalil.com",
        found={"domain": "deltagalil.com"},
    ),
    "a domain alone": Case(
        [match(1.0, "Delta", "deltagalil.com")],
        [DELTA],
        domain="deltagalil.com",
        found={"domain": "deltagalil.com"},
    ),
    "the owner's brand with a site of its own": Case(
        [UNILEVER],
        [match(0.9, "Dove", "dove.com", parent_company="Unilever", instagram="ig:dove")],
        brand="Dove",
        domain="unilever.com",
        found={
            "domain": "dove.com",
            "parent_company": "Unilever",
            "instagram": "ig:dove",
            "mail_domains": ("dove.com", "unilever.com"),
        },
    ),
    **{
        f"{brand} at {domain}": Case(known, brand=brand, domain=domain, status="ambiguous")
        for brand, domain, known in (
            ("Nike", "adidas.com", [NIKE, ADIDAS]),
            # Another Dove: which of Unilever's is meant cannot be known.
            ("Dove", "unilever.com", [match(0.9, "Dove", "dovechocolate.com"), UNILEVER]),
            ("Zephyrine", "adidas.com", [ADIDAS]),
            ("Nike", "nobody-knows.example", [NIKE]),
            (
                "Puma Energy",
                "puma.com",
                [
                    match(0.97, "Puma Energy", "pumaenergy.com"),
                    match(1.0, "Puma", "puma.com"),
                ],
            ),
        )
    },
    **{
        f"{brand}, like the owner": Case(
            [ADIDAS],
            brand=brand,
            domain="adidas.com",
            found={"name": "Adidas", "parent_company": None},
        )
        for brand in ("Adidas Football", "Addidas", "adidsa", "ADIDAS AG")
    },
    "two brands of one site": Case(
        [CANOPY, HILTON],
        [WORLDWIDE],
        brand="Canopy",
        domain="hilton.com",
        found={"name": "Canopy", "parent_company": "Hilton", "instagram": None},
    ),
    "another name of the owner": Case(
        [CANOPY, HILTON],
        [WORLDWIDE],
        brand="Hilton",
        domain="hilton.com",
        found={"instagram": "ig:hilton"},
    ),
    "two namesakes that name the domain": Case(
        [MALAYSIAN, TAIWANESE],
        brand="FamilyMart",
        domain="fm.tw",
        found={"domain": "fm.tw", "instagram": "ig:tw"},
    ),
    "no parent of itself": Case(
        [KIDS, match(1.0, "Gap", "g.com")],
        brand="Gap Kids",
        domain="g.com",
        found={"domain": "gapinc.com", "parent_company": None},
    ),
    "a short name of the owner": Case(
        [match(1.0, "Delta Faucet", "deltafaucet.com", instagram="ig:faucet")],
        brand="Delta",
        domain="deltafaucet.com",
        found={"name": "Delta Faucet", "parent_company": None, "instagram": "ig:faucet"},
    ),
    "a name that the domain is called by": Case(
        [match(0.9, "Saint Laurent", "ysl.com", instagram="ig:ysl")],
        brand="YSL",
        domain="ysl.com",
        found={"name": "YSL", "aliases": ("Saint Laurent",), "instagram": "ig:ysl"},
    ),
    "a domain that only its own site knows": Case(
        [],
        site=[match(0.8, "Acme", None, instagram="ig:acme")],
        domain="acme.example",
        found={"name": "Acme", "domain": "acme.example", "mail_domains": ("acme.example",)},
    ),
    "a site that leads elsewhere": Case(
        [],
        site=[match(1.0, "Parking", "parking.example")],
        brand="Acme",
        domain="acme.example",
        status="no_match",
    ),
    "two names of one site": Case(FOOS, domain="foo.com", status="ambiguous"),
    "two names of which the site has one": Case(
        FOOS, site=FOOS[1:], domain="foo.com", found={"name": "Giorgio Foo"}
    ),
    "an owner's social pages": Case(
        [UNILEVER],
        site=[DOVE_AT_OWNER],
        brand="Dove",
        domain="unilever.com",
        found={"instagram": None, "linkedin_company_url": "li"},
    ),
    "an owner's company page, by its site": Case(
        [match(1.0, "Unilever", "unilever.com")],
        site=[DOVE_AT_OWNER],
        brand="Dove",
        domain="unilever.com",
        found={"instagram": None, "linkedin_company_url": "li:owner"},
    ),
    "what the site adds": Case(
        [match(0.9, "Nike", "nike.com", instagram="ig:nike")],
        site=[match(1.0, "NIKE Official", "nike.com", instagram="ig:new", tiktok="tt:nike")],
        brand="Nike",
        found={"name": "Nike", "instagram": "ig:nike", "tiktok": "tt:nike"},
    ),
}


@pytest.mark.parametrize("name", CASES)
async def test_which_brand_is_meant(name: str) -> None:
    case = CASES[name]
    sources = [directory(*case.known), wikidata(*case.also), website(*case.site)]

    found = await resolved(sources, case.brand, case.domain)

    assert found.status == case.status
    assert (found.brand is None) == (case.status != "matched")
    assert {field: getattr(found.brand, field) for field in case.found} == case.found


async def test_facts_are_merged_field_by_field_with_their_finder() -> None:
    facts = await facts_of(
        [
            directory(match(0.9, "Nike", "nike.com", instagram="ig:nike")),
            wikidata(match(0.84, "Nike, Inc.", "nike.com", instagram="ig:x", tiktok="tt:nike")),
            website(match(1.0, "Nike. Just Do It", "nike.com", linkedin_company_url="li:nike")),
        ],
        "nike",
    )

    assert facts == BrandFacts(
        name="Nike",
        domain="nike.com",
        instagram="ig:nike",
        tiktok="tt:nike",
        linkedin_company_url="li:nike",
        mail_domains=("nike.com",),
        found_by={
            "name": "directory",
            "domain": "directory",
            "instagram": "directory",
            "tiktok": "wikidata",
            "linkedin_company_url": "website",
        },
    )


# What the sources' endings mean; `test_asking_stages` has the others.


async def test_a_site_that_does_not_answer_leaves_an_unknown_domain_open() -> None:
    failing = Shelf("website", ended=SourceStatus.FAILED)

    found = await resolve([directory(), failing], domain="a.example")

    assert isinstance(found, Failed)
    assert (found.why, found.retryable) == ("sources-away", True)


async def test_identifying_sources_are_asked_at_once() -> None:
    both_asked = asyncio.Barrier(2)

    class Meeting(Shelf):
        async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
            await both_asked.wait()  # one after the other would never get here
            return await super().find(query, known)

    async with asyncio.timeout(5):
        found = await resolved([Meeting("one"), Meeting("two")], "Nike")

    assert found.status == "no_match"


# Hints: asked last, and believed only with the brand's own site.


@dataclass
class Hint(Shelf):
    hints: bool = True


@dataclass
class Sites(Shelf):
    """A website source: what each domain's home page says of itself."""

    pages: dict[str, BrandMatch] = field(default_factory=dict)

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        self.asked.append((query, known))
        page = self.pages.get(query.domain or "")
        ended = SourceStatus.USED if page else SourceStatus.NO_RESULTS
        return BrandAnswer(source=self.name, ended=ended, matches=(page,) if page else ())


def hint(name: str, *domains: str) -> Hint:
    return Hint(name, tuple(match(0.05, "Zamira", domain) for domain in domains))


def sites(**pages: str) -> Sites:
    named = {
        f"{label}.test": match(1.0, name, f"{label}.test") for label, name in pages.items()
    }
    return Sites("website", pages=named)


async def test_a_hint_counts_once_the_site_is_called_so() -> None:
    site = sites(shop="A Shop", zamira="Zamira")
    sources = [directory(), hint("serper", "shop.test", "zamira.test"), wikidata(), site]

    facts = await facts_of(sources, "Zamira")

    assert (facts.name, facts.domain) == ("Zamira", "zamira.test")
    assert facts.found_by["domain"] == "website"
    assert [query for query, _ in site.asked] == [
        Query(domain="shop.test"),
        Query(domain="zamira.test"),
    ]


async def test_a_hint_that_no_site_confirms_is_no_match() -> None:
    sources = [hint("serper", "shop.test", "gone.test"), directory(), sites(shop="A Shop")]

    found = await resolved(sources, "Zamira")

    assert (found.status, found.brand) == ("no_match", None)
    assert found.sources["serper"] == "used"


async def test_hinting_sources_are_asked_in_turn_and_only_for_an_unknown_brand() -> None:
    first, second = hint("pdl", "zamira.test"), hint("serper", "zamira.test")
    site = sites(zamira="Zamira")

    await facts_of([first, second, site], "Zamira")
    assert (len(first.asked), len(second.asked)) == (1, 0)

    known = [directory(match(0.9, "Zamira", "zamira.test")), second, site]
    await facts_of(known, "Zamira")
    two = [directory(match(0.9, "Zamira", "a.test"), match(0.9, "Zamira", "b.test")), second]
    assert (await resolved([*two, site], "Zamira")).status == "ambiguous"
    assert (await resolved([second, site], domain="zamira.test")).status == "matched"
    assert second.asked == []


async def test_a_famous_neighbour_is_not_taken_for_an_unknown_brand() -> None:
    found = await resolved([hint("serper", "zara.test"), sites(zara="Zara")], "Zamira")

    assert found.status == "no_match"
