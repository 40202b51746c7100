"""A small outside world in memory: sources and a verifier written to their ports."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from cs.assembly.plugins import StagePlugins, build_stage, build_stages, open_plugins
from cs.domain.contact import BrandFacts, Query, Sighting
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.domain.stages.work import StageName
from cs.plugins.sources import (
    BrandAnswer,
    BrandMatch,
    BrandSource,
    PeopleAnswer,
    PeopleSource,
    SourceStatus,
)
from cs.plugins.stages import Stage
from cs.plugins.verifiers import DomainCheck, Verifier
from cs.settings import load

AT = datetime(2026, 1, 1, tzinfo=UTC)
ACME = BrandFacts(
    name="Acme",
    domain="acme.test",
    linkedin_company_url="https://www.linkedin.com/company/acme",
    instagram="https://www.instagram.com/acme",
    mail_domains=("acme.test",),
)


def person(full_name: str, headline: str) -> Sighting:
    first, _, last = full_name.partition(" ")
    return Sighting(
        full_name=full_name,
        first_name=first,
        last_name=last,
        headline=headline,
        company="Acme",
        linkedin_url=f"https://www.linkedin.com/in/{full_name.lower().replace(' ', '-')}",
        source="listed",
    )


ADA = person("Ada Kern", "Head of Influencer Marketing at Acme")
BEN = person("Ben Ode", "Social Media Manager at Acme")
CID = person("Cid Fell", "Designer at Acme")


@dataclass
class Directory:
    """Knows brands by lower-case name."""

    brands: Mapping[str, BrandFacts]
    name: str = "listed"
    asked: int = 0

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del known
        self.asked += 1
        found = self.brands.get((query.brand or "").lower())
        if found is None:
            return BrandAnswer(source=self.name, ended=SourceStatus.NO_RESULTS)
        match = BrandMatch(facts=found, score=0.9)
        return BrandAnswer(source=self.name, ended=SourceStatus.USED, matches=(match,))


@dataclass
class Staff:
    people: tuple[Sighting, ...]
    ended: SourceStatus = SourceStatus.USED
    name: str = "staff"

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        del brand
        return PeopleAnswer(source=self.name, ended=self.ended, people=self.people[:limit])


@dataclass
class SlowStaff(Staff):
    """Answers once `let` is set; brands of other domains than *slow*, if given, at once."""

    slow: str | None = None
    let: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        if self.slow is None or brand.domain == self.slow:
            self.asked.set()
            await self.let.wait()
        return await super().find(brand, limit=limit)


def slow_tools(
    staff: SlowStaff,
    brands: Mapping[str, BrandFacts] = MappingProxyType({"acme": ACME, "slow": ACME}),
) -> StagePlugins:
    """Return sources that know *brands* and *staff*, and a verifier that knows Ada Kern."""
    verifier = Mailboxes(frozenset({"ada.kern@acme.test"}))
    return StagePlugins([Directory(brands)], [staff], [verifier])


@dataclass
class Mailboxes:
    """A verifier that knows which addresses exist."""

    existing: frozenset[str]
    name: str = "listed"
    cost: int = 0
    otherwise: Verdict = Verdict.UNDELIVERABLE
    checked: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        del mail_domain, known
        yield MailboxesOf(self)


@dataclass
class MailboxesOf:
    mailboxes: Mailboxes
    learned: DomainFacts = DomainFacts()

    async def check(self, address: str) -> Evidence:
        self.mailboxes.checked.append(address)
        exists = address in self.mailboxes.existing
        return Evidence(
            address=address,
            verdict=Verdict.DELIVERABLE if exists else self.mailboxes.otherwise,
            reason="listed" if exists else "not-listed",
            verifier=self.mailboxes.name,
            at=AT,
        )


def tools(
    people: tuple[Sighting, ...] = (ADA, BEN, CID),
    existing: frozenset[str] = frozenset({"ada.kern@acme.test"}),
    brands: Mapping[str, BrandFacts] = MappingProxyType({"acme": ACME}),
) -> StagePlugins:
    return StagePlugins([Directory(brands)], [Staff(people)], [Mailboxes(existing)])


def stage(
    name: StageName,
    *,
    brands: Sequence[BrandSource] = (),
    people: Sequence[PeopleSource] = (),
    verifiers: Sequence[Verifier] = (),
    **more: Any,
) -> Stage:
    """Return the stage of ours called *name*, which asks these; *more* as `StagePlugins`."""
    return build_stage(name, StagePlugins(brands, people, verifiers, **more))


def stages(plugins: StagePlugins | None = None) -> Sequence[Stage]:
    """Return every stage of a service that asks with *plugins*, the world here without."""
    return build_stages(plugins or tools())


def stage_of(name: StageName, plugins: StagePlugins) -> Stage:
    """Return the stage called *name* of a service that asks with *plugins*."""
    return build_stage(name, plugins)


@asynccontextmanager
async def set_up(
    environment: Mapping[str, str] | None = None, **given: Any
) -> AsyncIterator[StagePlugins]:
    """Open all that the stages of a service with these settings ask with."""
    async with open_plugins(load(environment=environment or {}, given=given)) as opened:
        yield opened
