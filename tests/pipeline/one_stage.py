"""One stage in a process of its own: bytes in on stdin, bytes out on stdout.

Run with the name of a stage.  It is fed by a topic and answers on a topic, as in the
service, and the outside world is a few lines below.  What was imported goes to stderr.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from cs.bus.memory import MemoryBus
from cs.bus.topics import OUTCOMES, STAGE_TOPICS, decode_outcome
from cs.domain.contact import BrandFacts, Query, Sighting
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.stages.work import Alive, MailboxChecked, PeopleSeen
from cs.pipeline.brand_resolution import BrandResolution, BrandResolver
from cs.pipeline.contact_discovery import ContactDiscovery
from cs.pipeline.ranking import Ranking
from cs.pipeline.runner import Runner
from cs.pipeline.verification import Verification
from cs.plugins.sources import BrandAnswer, BrandMatch, PeopleAnswer, SourceStatus
from cs.plugins.stages import Stage
from cs.runtime.clock import SystemClock


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


async def answers(stage: Stage, work: bytes) -> AsyncIterator[bytes]:
    """Yield what *stage* answers to *work*, its result last."""
    bus = MemoryBus([(STAGE_TOPICS[stage.name], stage.name)])
    async with bus.subscribe(OUTCOMES, group="test") as outcomes:
        await bus.publish(STAGE_TOPICS[stage.name], key=b"", value=work)
        running = asyncio.create_task(Runner(stage, bus, SystemClock()).run())
        async for record in outcomes:
            yield record.value
            finding = decode_outcome(record.value).finding
            if not isinstance(finding, Alive | PeopleSeen | MailboxChecked):
                break
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def main() -> None:
    async for answer in answers(STAGES[sys.argv[1]], sys.stdin.buffer.read()):
        sys.stdout.buffer.write(answer + b"\n")


if __name__ == "__main__":
    asyncio.run(main())
    json.dump(sorted(sys.modules), sys.stderr)
