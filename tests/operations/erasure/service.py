"""The whole service in memory, with somebody who may erase people from it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from cs.assembly.plugins import StagePlugins
from cs.domain.contact import BrandFacts, Sighting
from cs.domain.mail.mailbox import DomainFacts
from cs.eventlog.streams import Streams
from cs.operations.erasure import Erasure
from cs.operations.operator import NewSecret
from cs.plugins.verifiers import DomainCheck
from cs.projections.catalogue import projections
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.sqlite import sqlite_views
from cs.projections.views import Views
from cs.runtime.clock import Clock, SystemClock
from harness.in_process import Service, one_process
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, ADA, BEN, Directory, Mailboxes, Staff

ADA_PROFILE = "https://www.linkedin.com/in/ada-kern"
ADA_MAILBOX = "ada.kern@acme.test"
BEN_MAILBOX = "ben.ode@acme.test"
ZENITH = BrandFacts(
    name="Zenith",
    domain="zenith.test",
    linkedin_company_url="https://www.linkedin.com/company/zenith",
    mail_domains=("zenith.test",),
)


@dataclass
class Known:
    """People by brand."""

    by_brand: Mapping[str, tuple[Sighting, ...]]
    name: str = "staff"

    async def find(self, brand: BrandFacts, *, limit: int) -> Any:
        return await Staff(self.by_brand[brand.name]).find(brand, limit=limit)


@dataclass
class Waits(Mailboxes):
    """Answers when its test lets it."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    told: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        self.asked.set()
        await self.told.wait()
        async with super().open(mail_domain, known) as check:
            yield check


def at_zenith(sighting: Sighting, **more: Any) -> Sighting:
    headline = (sighting.headline or "").replace("Acme", "Zenith")
    return replace(sighting, **{"headline": headline, "company": "Zenith", **more})


def outside(
    acme: tuple[Sighting, ...] = (ADA, BEN),
    zenith: tuple[Sighting, ...] = (),
    mailboxes: Mailboxes | None = None,
    *,
    zenith_mail: tuple[str, ...] = ("zenith.test",),
) -> StagePlugins:
    brands = {"acme": ACME, "zenith": replace(ZENITH, mail_domains=zenith_mail)}
    people = Known({"Acme": acme, "Zenith": zenith})
    both = Mailboxes(frozenset({ADA_MAILBOX, BEN_MAILBOX}))
    return StagePlugins([Directory(brands)], [people], [mailboxes or both])


@dataclass
class Erasable(Service):
    keys: MemoryKeyStore
    log: MemoryEventLog
    views: Views
    erasure: Erasure

    async def reapply(self) -> int:
        return await self.erasure.reapply()

    def names(self, answer: Mapping[str, Any]) -> list[str]:
        return [contact["full_name"] for contact in answer["contacts"]]

    async def read(self, key: NewSecret, search: str) -> dict[str, Any]:
        """Read *search* again."""
        async with self.client(key) as client:
            record: dict[str, Any] = (await client.get(f"/searches/{search}")).json()
            return record

    async def stored(self) -> str:
        """Return all that anybody can still read in the log."""
        return repr([each.event for each in await self.log.tail(0, 10_000)])

    async def rebuilt(self, key_id: str, search: str) -> bytes | None:
        """Return the body of *search* as views rebuilt from the log's start have it."""
        fresh = sqlite_views(None, projections())
        runner = ViewRunner(self.log, fresh, self.keys)
        await runner.catch_up()
        found = await Reading(self.log, fresh, runner, self.keys).search(search, key_id)
        await fresh.close()
        return found.body if found else None


@asynccontextmanager
async def erasable(
    tools: StagePlugins,
    keys: MemoryKeyStore | None = None,
    *,
    clock: Clock | None = None,
    months: int | None = None,
    log: MemoryEventLog | None = None,
) -> AsyncIterator[Erasable]:
    keys = keys or MemoryKeyStore()
    log, views = log or MemoryEventLog(keys), sqlite_views(None, projections())
    clock = clock or SystemClock()
    try:
        async with one_process(log, keys, views, tools, clock=clock, months=months) as service:
            another = ViewRunner(log, views, keys)  # as the command has one of its own
            streams = Streams(log)
            yield Erasable(
                service.running,
                service.operator,
                keys,
                log,
                views,
                Erasure(streams, keys, clock, another.catch_up),
            )
    finally:
        await views.close()
