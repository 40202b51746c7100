"""The four stages on an outside world of a few lines."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from cs.domain.contact import BrandFacts, Query, Sighting
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.pipeline.brand_resolution import BrandResolution, BrandResolver
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.ranking import Ranking
from cs.pipeline.verification import Verification
from cs.plugins.sources import BrandAnswer, BrandMatch, PeopleAnswer, SourceStatus
from cs.plugins.stages import Stage


class Listing:
    """Knows one brand, one person who works there, and that person's mailbox."""

    name = "listing"
    cost = 0
    learned = DomainFacts(catch_all=False)

    async def brand(self, query: Query) -> BrandAnswer:
        if query.brand != "Acme":
            return BrandAnswer(source=self.name, ended=SourceStatus.NO_RESULTS)
        facts = BrandFacts(
            name="Acme",
            domain="acme.example",
            linkedin_company_url="https://www.linkedin.com/company/acme",
            mail_domains=("acme.example",),
        )
        found = (BrandMatch(facts=facts, score=0.9),)
        return BrandAnswer(source=self.name, ended=SourceStatus.USED, matches=found)

    async def people(self) -> PeopleAnswer:
        ada = Sighting(
            full_name="Ada Kern",
            first_name="Ada",
            last_name="Kern",
            headline="Head of Influencer Marketing at Acme",
            company="Acme",
            source=self.name,
        )
        return PeopleAnswer(source=self.name, ended=SourceStatus.USED, people=(ada,))

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator["Listing"]:
        del mail_domain, known
        yield self

    async def check(self, address: str) -> Evidence:
        exists = address == "ada.kern@acme.example"
        return Evidence(
            address=address,
            verdict=Verdict.DELIVERABLE if exists else Verdict.UNDELIVERABLE,
            reason="listed" if exists else "not-listed",
            verifier=self.name,
            at=datetime.now(UTC),
        )


class Brands(Listing):
    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del known
        return await self.brand(query)


class People(Listing):
    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del brand, limit
        return await self.people()


STAGES: Mapping[str, Stage] = {
    "brand-resolution": BrandResolution(BrandResolver([Brands()])),
    "contact-discovery": ContactDiscovery([People()]),
    "ranking": Ranking(),
    "verification": Verification([Listing()]),
}
