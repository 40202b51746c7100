"""Which brand is meant, from sources that live in this file."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from cs.domain.contact import BrandFacts, Query
from cs.pipeline.brand_resolution import (
    BrandResolver,
    Resolution,
    recordable,
)
from cs.plugins.sources import BrandAnswer, BrandMatch, BrandSource, SourceStatus


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
    score: float, name: str, domain: str | None, key: str = "", **facts: str
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
) -> Resolution:
    query = Query(brand, domain)
    resolution = await BrandResolver(sources).resolve(query)
    assert recordable(resolution.answers) is not None
    return resolution


async def facts_of(
    sources: Sequence[BrandSource], brand: str | None = None, domain: str | None = None
) -> BrandFacts:
    resolution = await resolve(sources, brand, domain)
    assert resolution.status == "matched"
    assert resolution.facts is not None
    return resolution.facts


# A bare name.


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


@pytest.mark.parametrize("spread", [True, False])
async def test_namesakes_with_different_domains_are_ambiguous(spread: bool) -> None:
    one, other = match(0.9, "Delta", "delta.com"), match(0.9, "Delta", "deltagalil.com")
    sources = [directory(one), wikidata(other)] if spread else [directory(one, other)]

    resolution = await resolve(sources, "Delta")

    assert (resolution.status, resolution.facts) == ("ambiguous", None)
    assert resolution.conclusive


async def test_two_main_sites_of_one_name_in_one_source_stay_two_brands() -> None:
    malaysian = with_mail(match(0.9, "FamilyMart", "fm.my"), "fm.my", "fm.tw")

    resolution = await resolve(
        [directory(malaysian, match(0.9, "FamilyMart", "fm.tw"))], "FamilyMart"
    )

    assert resolution.status == "ambiguous"


async def test_one_brand_known_under_two_domains_by_two_sources_is_one() -> None:
    known = with_mail(match(0.9, "Gap", "gapinc.com"), "gapinc.com", "gap.com")

    facts = await facts_of([directory(known), wikidata(match(0.9, "Gap", "gap.com"))], "Gap")

    assert (facts.domain, facts.mail_domains) == ("gapinc.com", ("gapinc.com", "gap.com"))


async def test_one_item_under_two_names_is_one_brand() -> None:
    facts = await facts_of(
        [
            directory(match(0.9, "BMW", "bmw.com", key="Q26678")),
            wikidata(match(0.9, "Bayerische Motoren Werke", "bmwgroup.com", key="Q26678")),
        ],
        "BMW",
    )

    assert (facts.name, facts.mail_domains) == ("BMW", ("bmw.com", "bmwgroup.com"))


async def test_a_name_written_as_asked_beats_one_with_accents() -> None:
    facts = await facts_of(
        [directory(match(0.9, "Nike", "nike.com"), match(0.873, "Niké", "nike.sk"))], "Nike"
    )

    assert facts.domain == "nike.com"


async def test_something_similar_is_no_match() -> None:
    resolution = await resolve(
        [directory(match(0.69, "Delta Faucet", "deltafaucet.com"))], "Delta"
    )

    assert (resolution.status, resolution.conclusive) == ("no_match", True)


async def test_a_namesake_without_a_site_is_no_rival() -> None:
    goddess = match(0.9, "Nike", None)

    facts = await facts_of(
        [directory(match(0.9, "Nike", "nike.com")), wikidata(goddess)], "Nike"
    )

    assert facts.domain == "nike.com"


async def test_a_brand_without_any_site_is_still_a_match() -> None:
    site = website()

    facts = await facts_of([directory(match(0.9, "Acme Bank", None)), site], "Acme Bank")

    assert (facts.domain, facts.mail_domains) == (None, ())
    assert site.asked == []


# A domain, alone or beside a name.


async def test_a_domain_decides_between_namesakes() -> None:
    sources = [
        directory(match(1.0, "Delta", "deltagalil.com")),
        wikidata(match(0.9, "Delta", "delta.com")),
    ]

    assert (await facts_of(sources, "Delta", "deltagalil.com")).domain == "deltagalil.com"
    assert (await facts_of(sources, domain="deltagalil.com")).domain == "deltagalil.com"


async def test_a_brand_of_an_owner_s_domain_has_the_owner_as_parent() -> None:
    unilever = match(
        1.0,
        "Unilever",
        "unilever.com",
        linkedin_company_url="li:unilever",
        instagram="ig:unilever",
    )

    facts = await facts_of([directory(unilever)], "Dove", "unilever.com")

    assert facts == BrandFacts(
        name="Dove",
        domain="unilever.com",
        linkedin_company_url="li:unilever",
        parent_company="Unilever",
        mail_domains=("unilever.com",),
        found_by={
            "name": "query",
            "parent_company": "directory",
            "domain": "directory",
            "linkedin_company_url": "directory",
        },
    )


async def test_a_brand_known_to_be_the_owner_s_keeps_its_own_site() -> None:
    dove = match(0.9, "Dove", "dove.com", parent_company="Unilever", instagram="ig:dove")

    facts = await facts_of(
        [directory(match(1.0, "Unilever", "unilever.com")), wikidata(dove)],
        "Dove",
        "unilever.com",
    )

    assert (facts.name, facts.domain, facts.parent_company) == ("Dove", "dove.com", "Unilever")
    assert facts.instagram == "ig:dove"
    assert facts.mail_domains == ("dove.com", "unilever.com")


NIKE, ADIDAS = match(0.97, "Nike", "nike.com"), match(1.0, "Adidas", "adidas.com")


@pytest.mark.parametrize(
    ("brand", "domain", "known"),
    [
        ("Nike", "adidas.com", [NIKE, ADIDAS]),
        # Another Dove: what of Unilever's is meant nobody can say.
        ("Dove", "unilever.com", [match(0.9, "Dove", "dovechocolate.com"),
                                  match(1.0, "Unilever", "unilever.com")]),
        ("Puma Energy", "puma.com", [match(0.97, "Puma Energy", "pumaenergy.com"),
                                     match(1.0, "Puma", "puma.com")]),
        # A name that nobody knows, at the site of a company without other brands.
        ("Zephyrine", "adidas.com", [ADIDAS]),
        ("Nike", "nobody-knows.example", [NIKE]),
    ],
)  # fmt: skip
async def test_a_brand_and_a_domain_that_contradict_are_ambiguous(
    brand: str, domain: str, known: list[BrandMatch]
) -> None:
    resolution = await resolve([directory(*known)], brand, domain)

    assert (resolution.status, resolution.facts) == ("ambiguous", None)
    assert resolution.score <= 0.5


@pytest.mark.parametrize("brand", ["Adidas Football", "Addidas", "adidsa", "ADIDAS AG"])
async def test_a_name_like_the_owner_s_is_the_owner(brand: str) -> None:
    facts = await facts_of([directory(ADIDAS)], brand, "adidas.com")

    assert (facts.name, facts.parent_company) == ("Adidas", None)


async def test_several_that_are_likely_together_are_ambiguous_and_too_few_are_none() -> None:
    one, two = match(0.5, "Metro", "metro.de"), match(0.4, "Metro", "metro.ca")

    both = await resolve([directory(one, two)], "Metro")
    alone = await resolve([directory(one)], "Metro")

    assert [(r.status, r.score) for r in (both, alone)] == [
        ("ambiguous", 0.5),
        ("no_match", 0.5),
    ]


CANOPY, HILTON = match(1.0, "Canopy", "hilton.com"), match(1.0, "Hilton", "hilton.com")


async def test_two_brands_of_one_site_are_told_apart_by_name() -> None:
    facts = await facts_of([directory(CANOPY, HILTON)], "Canopy", "hilton.com")

    assert (facts.name, facts.parent_company) == ("Canopy", "Hilton")


async def test_another_name_of_a_site_s_owner_is_the_owner() -> None:
    worldwide = wikidata(match(1.0, "Hilton Worldwide", "hilton.com", instagram="ig:hilton"))
    sources = [directory(CANOPY, HILTON), worldwide]

    assert (await facts_of(sources, "Canopy", "hilton.com")).instagram is None
    assert (await facts_of(sources, "Hilton", "hilton.com")).instagram == "ig:hilton"


async def test_of_two_namesakes_that_name_the_domain_its_owner_is_meant() -> None:
    malaysian = with_mail(match(1.0, "FamilyMart", "fm.my"), "fm.my", "fm.tw")
    taiwanese = match(1.0, "FamilyMart", "fm.tw", instagram="ig:tw")

    facts = await facts_of([directory(malaysian, taiwanese)], "FamilyMart", "fm.tw")

    assert (facts.domain, facts.instagram) == ("fm.tw", "ig:tw")


async def test_no_brand_is_its_own_parent() -> None:
    kids = with_mail(match(1.0, "Gap", "gapinc.com"), "gapinc.com", "g.com")
    kids = msgspec.structs.replace(
        kids, facts=msgspec.structs.replace(kids.facts, aliases=("Gap Kids",))
    )

    facts = await facts_of([directory(kids, match(1.0, "Gap", "g.com"))], "Gap Kids", "g.com")

    assert (facts.domain, facts.parent_company) == ("gapinc.com", None)


async def test_a_short_name_of_the_owner_is_the_owner() -> None:
    faucet = directory(match(1.0, "Delta Faucet", "deltafaucet.com", instagram="ig:faucet"))

    facts = await facts_of([faucet], "Delta", "deltafaucet.com")

    assert (facts.name, facts.parent_company, facts.instagram) == (
        "Delta Faucet",
        None,
        "ig:faucet",
    )


async def test_a_name_the_domain_is_called_by_is_the_owner_s() -> None:
    laurent = directory(match(0.9, "Saint Laurent", "ysl.com", instagram="ig:ysl"))

    facts = await facts_of([laurent], "YSL", "ysl.com")

    assert (facts.name, facts.parent_company, facts.instagram) == ("YSL", None, "ig:ysl")
    assert facts.aliases == ("Saint Laurent",)


async def test_a_domain_nobody_knows_is_told_by_its_own_site() -> None:
    site = website(match(0.8, "Acme", None, instagram="ig:acme"))

    facts = await facts_of([directory(), wikidata(), site], domain="acme.example")

    assert (facts.name, facts.domain, facts.instagram) == ("Acme", "acme.example", "ig:acme")
    assert facts.mail_domains == ("acme.example",)
    assert site.asked == [(Query(None, "acme.example"), None)]


async def test_a_site_that_now_leads_elsewhere_tells_nothing() -> None:
    site = website(match(1.0, "Parking", "parking.example"))

    resolution = await resolve([directory(), site], "Acme", "acme.example")

    assert resolution.status == "no_match"


async def test_a_site_s_own_name_settles_what_one_source_left_open() -> None:
    brands = directory(
        match(0.9, "Emporio Foo", "foo.com"), match(0.9, "Giorgio Foo", "foo.com")
    )
    site = website(match(0.9, "Giorgio Foo", "foo.com"))

    assert (await resolve([brands], domain="foo.com")).status == "ambiguous"
    assert (await facts_of([brands, site], domain="foo.com")).name == "Giorgio Foo"


@pytest.mark.parametrize(("owner", "domain"), [("Unilever", "unilever.com"), ("P&G", "pg.com")])
async def test_an_owner_s_site_lends_a_brand_no_social_pages(owner: str, domain: str) -> None:
    site = website(
        match(1.0, "Dove", domain, instagram="ig:owner", linkedin_company_url="li:owner")
    )

    facts = await facts_of([directory(match(1.0, owner, domain)), site], "Dove", domain)

    assert (facts.instagram, facts.linkedin_company_url) == (None, "li:owner")


async def test_a_site_completes_what_is_known_and_changes_nothing() -> None:
    site = website(
        match(1.0, "NIKE Official", "nike.com", instagram="ig:new", tiktok="tt:nike")
    )

    facts = await facts_of(
        [directory(match(0.9, "Nike", "nike.com", instagram="ig:nike")), site], "Nike"
    )

    assert (facts.name, facts.instagram, facts.tiktok) == ("Nike", "ig:nike", "tt:nike")
    [(_, known)] = site.asked
    assert known is not None
    assert known.domain == "nike.com"


# What the sources' endings mean.


@pytest.mark.parametrize(
    ("endings", "conclusive", "retry_in_s"),
    [
        ([SourceStatus.NO_RESULTS, SourceStatus.NO_RESULTS], True, None),
        ([SourceStatus.NO_RESULTS, SourceStatus.NOT_CONFIGURED], True, None),
        ([SourceStatus.NO_RESULTS, SourceStatus.RATE_LIMITED], False, 30.0),
        ([SourceStatus.FAILED, SourceStatus.NO_RESULTS], False, 30.0),
        ([SourceStatus.NOT_CONFIGURED, SourceStatus.NOT_CONFIGURED], False, None),
        ([], False, None),
    ],
)
async def test_nothing_found_is_conclusive_only_if_all_that_could_know_answered(
    endings: list[SourceStatus], conclusive: bool, retry_in_s: float | None
) -> None:
    broken = {SourceStatus.FAILED, SourceStatus.RATE_LIMITED}
    sources = [
        Shelf(f"source{n}", ended=ended, retry_in_s=30.0 if ended in broken else None)
        for n, ended in enumerate(endings)
    ]

    resolution = await resolve(sources, "Nike")

    assert resolution == Resolution(
        status="no_match",
        sources={source.name: source.ended for source in sources if source.ended},
        conclusive=conclusive,
        retry_in_s=retry_in_s,
        answers=resolution.answers,
    )
    assert [answer.source for answer in resolution.answers] == [s.name for s in sources]


async def test_a_site_that_does_not_answer_leaves_an_unknown_domain_open() -> None:
    resolution = await resolve(
        [directory(), Shelf("website", ended=SourceStatus.FAILED)], domain="a.example"
    )

    assert (resolution.status, resolution.conclusive) == ("no_match", False)
    assert resolution.sources == {
        "directory": SourceStatus.NO_RESULTS,
        "website": SourceStatus.FAILED,
    }


async def test_a_match_stands_whatever_else_failed() -> None:
    limited = Shelf("wikidata", ended=SourceStatus.RATE_LIMITED, retry_in_s=60.0)

    resolution = await resolve([directory(match(0.9, "Nike", "nike.com")), limited], "Nike")

    assert (resolution.status, resolution.conclusive, resolution.retry_in_s) == (
        "matched",
        True,
        None,
    )
    assert resolution.sources["wikidata"] is SourceStatus.RATE_LIMITED


async def test_identifying_sources_are_asked_at_once() -> None:
    both_asked = asyncio.Barrier(2)

    class Meeting(Shelf):
        async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
            await both_asked.wait()  # one after the other would never get here
            return await super().find(query, known)

    async with asyncio.timeout(5):
        resolution = await resolve([Meeting("one"), Meeting("two")], "Nike")

    assert resolution.status == "no_match"


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


async def test_a_hint_that_no_site_confirms_finds_nobody() -> None:
    sources = [hint("serper", "shop.test", "gone.test"), directory(), sites(shop="A Shop")]

    resolution = await resolve(sources, "Zamira")

    assert (resolution.status, resolution.facts) == ("no_match", None)
    assert resolution.sources["serper"] is SourceStatus.USED


async def test_who_hints_is_asked_one_after_the_other_and_only_if_nobody_knows() -> None:
    first, second = hint("pdl", "zamira.test"), hint("serper", "zamira.test")
    site = sites(zamira="Zamira")

    await facts_of([first, second, site], "Zamira")
    assert (len(first.asked), len(second.asked)) == (1, 0)

    known = [directory(match(0.9, "Zamira", "zamira.test")), second, site]
    await facts_of(known, "Zamira")
    two = [directory(match(0.9, "Zamira", "a.test"), match(0.9, "Zamira", "b.test")), second]
    assert (await resolve([*two, site], "Zamira")).status == "ambiguous"
    assert (await resolve([second, site], domain="zamira.test")).status == "matched"
    assert second.asked == []


async def test_a_famous_neighbour_is_not_taken_for_an_unknown_brand() -> None:
    resolution = await resolve([hint("serper", "zara.test"), sites(zara="Zara")], "Zamira")

    assert resolution.status == "no_match"
