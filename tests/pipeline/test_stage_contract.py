"""The stages of the service pass the kit that those of others are held to."""

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from cs.domain.contact import BrandFacts, Candidate, Person, Query
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.stages.work import (
    DiscoveryInput,
    RankingInput,
    ResolutionInput,
    StageInput,
    StageName,
    VerificationInput,
    Work,
)
from cs.pipeline.brand_resolution import BrandResolution, BrandResolver
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.plugins.contracts.stage import StageCase, StageContract
from cs.plugins.sources import BrandAnswer, PeopleAnswer, SourceStatus
from pipeline.one_stage import STAGES, Brands, People

ACME = BrandFacts(name="Acme", domain="acme.example", mail_domains=("acme.example",))
ADA = Person(
    person="p1",
    full_name="Ada Kern",
    first_name="Ada",
    last_name="Kern",
    headline="Head of Influencer Marketing at Acme",
    company="Acme",
)


def work(stage: StageName, *inputs: StageInput) -> list[Work]:
    """Return work of one lookup each."""
    return [
        Work(
            lookup=f"brand-0a1b.{number}",
            stage=stage,
            item=getattr(given, "mail_domain", ""),
            attempt=1,
            deadline_at=datetime(2199, 1, 1, tzinfo=UTC),
            input=given,
            receipt=f"receipt-{number}",
        )
        for number, given in enumerate(inputs, 1)
    ]


class Away(Brands):
    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        return BrandAnswer(source=self.name, ended=SourceStatus.FAILED, why="HTTP 500")


class NoListing(People):
    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del brand, limit
        return PeopleAnswer(source=self.name, ended=SourceStatus.RATE_LIMITED, why="HTTP 429")


class Silent(Brands):
    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        await asyncio.Event().wait()
        raise AssertionError


class TestBrandResolution(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        asked = (Query(brand="Acme"), Query(brand="Nobody"), Query(domain="acme.example"))
        return StageCase(
            stage=STAGES["brand-resolution"],
            work=work("brand-resolution", *map(ResolutionInput, asked)),
            broken=(BrandResolution(BrandResolver([Away()])),),
            silent=BrandResolution(BrandResolver([Silent()])),
        )


class TestContactDiscovery(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        brands = (ACME, replace(ACME, parent_company="Acme Group", aliases=("Acme Ltd",)))
        return StageCase(
            stage=STAGES["contact-discovery"],
            work=work("contact-discovery", *map(DiscoveryInput, brands)),
            broken=(ContactDiscovery([NoListing()]),),
        )


class TestRanking(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        given = (RankingInput(ACME, (ADA,)), RankingInput(ACME, ()))
        return StageCase(stage=STAGES["ranking"], work=work("ranking", *given))


class TestVerification(StageContract):
    @pytest.fixture
    def case(self) -> StageCase:
        ada = Candidate(person="p1", full_name="Ada Kern", first_name="Ada", last_name="Kern")
        given = (
            VerificationInput("acme.example", (ada,)),
            VerificationInput("acme.example", (), DomainFacts(catch_all=True)),
        )
        return StageCase(stage=STAGES["verification"], work=work("verification", *given))
