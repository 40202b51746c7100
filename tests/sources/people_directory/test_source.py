from datetime import date
from typing import Any

import pytest
from msgspec.structs import replace

from cs.domain.contact import BrandFacts, Sighting
from cs.plugins.contracts.people_source import PeopleSourceCase, PeopleSourceContract
from cs.plugins.contracts.stand_in import StandIn, source_context
from cs.plugins.entry_points import Group
from cs.plugins.sources import SourceStatus
from harness.clients import plugin
from harness.memory_directory import AwayDirectory, MemoryDirectory

ACME = BrandFacts(name="Acme", domain="acme.example", mail_domains=("acme.example",))
JANUARY = date(2026, 1, 1)
ADA = {
    "title": "Head of Influencer Marketing",
    "headline": "Cats. Coffee. Code.",
    "company": "ACME, Inc.",
    "profile": "https://www.linkedin.com/in/ada-kern",
    "email": "ada.kern@acme.example",
    "location": "Berlin",
}
BEN = {
    "headline": "Software Engineer",
    "domain": "acme.example",
    "email": "ben@acme.example",
}


@pytest.fixture
def kept() -> MemoryDirectory:
    return MemoryDirectory(b"k" * 32)


def source_over(directory: MemoryDirectory) -> Any:
    context = replace(source_context(StandIn(lambda _: None)), directory=directory)
    return plugin(Group.PEOPLE_SOURCES, "directory", context)


async def test_people_are_reported_those_in_a_role_first(kept: MemoryDirectory) -> None:
    await kept.add("Ada Kern", JANUARY, **ADA)
    await kept.add("Ben Holt", date(2026, 6, 1), **BEN)
    source = source_over(kept)

    answer = await source.find(ACME, limit=5)

    assert answer.ended is SourceStatus.USED
    assert answer.people == (
        Sighting(
            full_name="Ada Kern",
            headline="Head of Influencer Marketing",
            company="ACME, Inc.",
            linkedin_url=ADA["profile"],
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
    assert source.missing is None


async def test_an_empty_one_says_what_fills_it_and_a_new_import_is_seen(
    kept: MemoryDirectory,
) -> None:
    source = source_over(kept)

    before = await source.find(ACME, limit=5)
    assert before.ended is SourceStatus.NOT_CONFIGURED
    assert source.missing == before.why == (await source.check()).why
    await kept.add("Ada Kern", JANUARY, **ADA)

    assert (await source.find(ACME, limit=5)).ended is SourceStatus.USED
    checked = await source.check()
    assert (checked.ended, checked.why) == (
        "works",
        "1 people, known of 2026-01-01 to 2026-01-01",
    )


class TestDirectorySource(PeopleSourceContract):
    @pytest.fixture
    async def case(self, kept: MemoryDirectory) -> PeopleSourceCase:
        await kept.add("Ada Kern", JANUARY, **ADA)
        await kept.add("Ben Holt", JANUARY, **BEN)
        return PeopleSourceCase(
            source=source_over(kept),
            known=ACME,
            unknown=BrandFacts(name="Bolt", domain="bolt.example"),
            broken={"away": source_over(AwayDirectory(b"k" * 32))},
        )


# Where people are looked for.

SONS = BrandFacts(
    name="Acmé & Sons",
    domain="acme.example",
    parent_company="Holdall Group",
    mail_domains=("mail-acme.example",),
)
DELTA = BrandFacts(name="Delta", domain="delta.com")
#: A brand, what is known of somebody, and whether they are found for it.
MEANT: list[tuple[BrandFacts, dict[str, str], bool]] = [
    (SONS, {"company": "ACME and Sons, Inc."}, True),
    (SONS, {"company": "The Acme & Sons GmbH"}, True),
    (SONS, {"company": "Holdall"}, True),
    (SONS, {"domain": "acme.example"}, True),
    (SONS, {"domain": "eu.shop.acme.example"}, True),
    (SONS, {"email": "ada@mail-acme.example"}, True),
    (SONS, {"company": "Acme & Sons Robotics"}, False),
    (SONS, {"company": "Acme"}, False),
    (SONS, {"domain": "sons.example"}, False),
    (SONS, {"domain": "acme.myshopify.com"}, False),
    (SONS, {"email": "ada@gmail.com"}, False),
    # A namesake with a site of its own is not meant.
    (DELTA, {"company": "Delta", "domain": "deltafaucet.com"}, False),
    (DELTA, {"company": "Delta", "domain": "delta.com"}, True),
    (DELTA, {"company": "Delta", "domain": "news.delta.com"}, True),
    (DELTA, {"company": "Delta", "domain": "delta.de"}, True),
    (DELTA, {"company": "Delta"}, True),
    (BrandFacts(name="Delta"), {"company": "Delta", "domain": "deltafaucet.com"}, True),
]


async def test_a_company_is_found_as_brands_are() -> None:
    wrong = []
    for brand, fields, found in MEANT:
        kept = MemoryDirectory(b"k" * 32)
        await kept.add("Ada Kern", JANUARY, **fields)
        answer = await source_over(kept).find(brand, limit=5)
        if bool(answer.people) is not found:
            wrong.append((brand.name, fields))

    assert wrong == []
