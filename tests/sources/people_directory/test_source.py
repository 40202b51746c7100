from datetime import date

import pytest

from cs.directory.person import DirectoryPerson, DirectoryRow
from cs.directory.store import DirectoryUnavailable, IndexEntries
from cs.domain.contact import BrandFacts, Sighting
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.sources import SourceStatus
from cs.sources.people_directory.source import (
    DirectorySource,
    is_meant,
    places_asked,
    places_of,
)
from harness.memory_directory import MemoryDirectory

ACME = BrandFacts(name="Acme", domain="acme.example", mail_domains=("acme.example",))
ALL = frozenset(DirectoryPerson.__struct_fields__)
ADA = DirectoryPerson(
    full_name="Ada Kern",
    title="Head of Influencer Marketing",
    headline="Cats. Coffee. Code.",
    company="ACME, Inc.",
    profile="https://www.linkedin.com/in/ada-kern",
    email="ada.kern@acme.example",
    location="Berlin",
    as_of=date(2026, 1, 1),
)
BEN = DirectoryPerson(
    full_name="Ben Holt",
    headline="Software Engineer",
    domain="acme.example",
    email="ben@acme.example",
    as_of=date(2026, 6, 1),
)


def index(person: DirectoryPerson) -> IndexEntries:
    return IndexEntries(places_of(person), ("00" * 32,))


async def directory(*people: DirectoryPerson) -> MemoryDirectory:
    kept = MemoryDirectory(b"k" * 32)
    await kept.put([DirectoryRow(each, ALL) for each in people], index)
    return kept


async def test_people_are_reported_those_in_a_role_first() -> None:
    source = DirectorySource(await directory(ADA, BEN))

    answer = await source.find(ACME, limit=5)

    assert answer.ended is SourceStatus.USED
    assert answer.people == (
        Sighting(
            full_name="Ada Kern",
            headline="Head of Influencer Marketing",
            company="ACME, Inc.",
            linkedin_url=ADA.profile,
            location="Berlin",
            addresses=("ada.kern@acme.example",),
            source="directory",
        ),
        Sighting(
            full_name="Ben Holt",
            headline="Software Engineer",
            company="Acme",
            addresses=("ben@acme.example",),
            source="directory",
        ),
    )
    assert (await source.find(ACME, limit=1)).people == answer.people[:1]
    assert (await source.find(BrandFacts(name="Bolt"), limit=5)).ended is (
        SourceStatus.NO_RESULTS
    )
    assert source.missing is None


async def test_an_empty_one_says_what_fills_it_and_a_new_import_is_seen() -> None:
    kept = await directory()
    source = DirectorySource(kept)

    before = await source.find(ACME, limit=5)
    assert before.ended is SourceStatus.NOT_CONFIGURED
    assert source.missing == before.why == (await source.check()).why
    await kept.put([DirectoryRow(ADA, ALL)], index)

    assert (await source.find(ACME, limit=5)).ended is SourceStatus.USED
    checked = await source.check()
    assert (checked.ended, checked.why) == (
        "works",
        "1 people, known of 2026-01-01 to 2026-01-01",
    )


class Away(MemoryDirectory):
    async def look(self) -> bool:
        raise DirectoryUnavailable("the disk is full")


async def test_one_that_is_away_has_failed() -> None:
    answer = await DirectorySource(Away(b"k" * 32)).find(ACME, limit=5)

    assert (answer.ended, answer.why) == (SourceStatus.FAILED, "the disk is full")


class TestDirectorySource(PeopleSourceContract):
    @pytest.fixture
    async def case(self) -> PeopleSourceCase:
        return PeopleSourceCase(
            source=DirectorySource(await directory(ADA, BEN)),
            known=ACME,
            unknown=BrandFacts(name="Bolt", domain="bolt.example"),
            broken={"away": DirectorySource(Away(b"k" * 32))},
        )


# Where people are looked for.

SONS = BrandFacts(
    name="Acmé & Sons",
    domain="acme.example",
    parent_company="Holdall Group",
    mail_domains=("mail-acme.example",),
)


def person(**fields: str | None) -> DirectoryPerson:
    return DirectoryPerson(full_name="Ada", as_of=date(2026, 11, 1), **fields)


def test_a_company_is_found_as_brands_are() -> None:
    asked = places_asked(SONS)
    for found in (
        {"company": "ACME and Sons, Inc."},
        {"company": "The Acme & Sons GmbH"},
        {"company": "Holdall"},
        {"domain": "acme.example"},
        {"domain": "eu.shop.acme.example"},
        {"email": "ada@mail-acme.example"},
    ):
        there = person(**found)
        assert asked & places_of(there), found
        assert is_meant(SONS, there), found
    for other in (
        {"company": "Acme & Sons Robotics"},
        {"company": "Acme"},
        {"domain": "sons.example"},
        {"domain": "acme.myshopify.com"},
        {"email": "ada@gmail.com"},
    ):
        assert not asked & places_of(person(**other)), other


def test_a_namesake_with_a_site_of_its_own_is_not_meant() -> None:
    delta = BrandFacts(name="Delta", domain="delta.com")

    told = {
        site: is_meant(delta, person(company="Delta", domain=site))
        for site in ("deltafaucet.com", "delta.com", "news.delta.com", "delta.de", None)
    }

    assert told == {
        "deltafaucet.com": False,
        "delta.com": True,
        "news.delta.com": True,
        "delta.de": True,
        None: True,
    }
    assert is_meant(BrandFacts(name="Delta"), person(domain="deltafaucet.com"))
