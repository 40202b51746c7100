"""The stages of the service pass the kit that those of others are held to."""

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cs.domain.contact import BrandFacts, Candidate, Person, Query
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.stages.work import (
    DiscoveryInput,
    RankingDone,
    RankingInput,
    ResolutionInput,
    StageInput,
    StageName,
    VerificationInput,
    Work,
)
from cs.plugins.contracts.stage import StageCase, StageContract
from cs.plugins.sources import BrandAnswer, SourceStatus
from harness.outside import stage, stage_of, tools
from pipeline.test_asking_stages import Brands, People

ACME = BrandFacts(name="Acme", domain="acme.example", mail_domains=("acme.example",))
ADA = Person(
    person="p1",
    full_name="Ada Kern",
    first_name="Ada",
    last_name="Kern",
    headline="Head of Influencer Marketing at Acme",
    company="Acme",
)


def work(name: StageName, *inputs: StageInput) -> list[Work]:
    """Return work of one lookup each."""
    return [
        Work(
            lookup=f"brand-0a1b.{number}",
            stage=name,
            item=getattr(given, "mail_domain", ""),
            attempt=1,
            deadline_at=datetime(2199, 1, 1, tzinfo=UTC),
            input=given,
            receipt=f"receipt-{number}",
        )
        for number, given in enumerate(inputs, 1)
    ]


class Silent(Brands):
    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        await asyncio.Event().wait()
        raise AssertionError


class TestBrandResolution(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        asked = (Query(brand="Acme"), Query(brand="Nobody"), Query(domain="acme.example"))
        away = Brands("away", SourceStatus.FAILED)
        silent = Silent("silent", SourceStatus.USED)
        return StageCase(
            stage=stage_of("brand-resolution", tools()),
            work=work("brand-resolution", *map(ResolutionInput, asked)),
            broken={"away": stage("brand-resolution", brands=[away])},
            silent=stage("brand-resolution", brands=[silent]),
        )


class TestContactDiscovery(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        brands = (ACME, replace(ACME, parent_company="Acme Group", aliases=("Acme Ltd",)))
        limited = People("limited", SourceStatus.RATE_LIMITED)
        return StageCase(
            stage=stage_of("contact-discovery", tools()),
            work=work("contact-discovery", *map(DiscoveryInput, brands)),
            broken={"limited": stage("contact-discovery", people=[limited])},
        )


class TestRanking(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        given = (RankingInput(ACME, (ADA,)), RankingInput(ACME, ()))
        return StageCase(stage=stage("ranking"), work=work("ranking", *given))


class TestVerification(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        ada = Candidate(person="p1", full_name="Ada Kern", first_name="Ada", last_name="Kern")
        given = (
            VerificationInput("acme.test", (ada,)),
            VerificationInput("acme.test", (), DomainFacts(catch_all=True)),
        )
        return StageCase(
            stage=stage_of("verification", tools()), work=work("verification", *given)
        )


async def test_many_people_are_ranked_while_others_run() -> None:
    many = tuple(replace(ADA, person=f"p{number}") for number in range(1, 200))
    asked = RankingInput(ACME, many)
    (given,) = work("ranking", asked)
    ran: list[bool] = []
    asyncio.get_running_loop().call_soon(ran.append, True)

    async def report(finding: object) -> None:
        raise AssertionError(finding)

    found = await stage("ranking").handle(given, report)

    assert ran == [True]
    assert isinstance(found, RankingDone)
    assert len(found.ranked) == asked.contacts
