"""The whole service in memory, with somebody who may erase people from it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from cs.assembly.folder import open_paid_calls
from cs.assembly.monitored_keys import KeyStoreUnavailable
from cs.assembly.one_process import run_embedded
from cs.assembly.operator_command import open_command_context
from cs.assembly.plugins import StagePlugins
from cs.domain.contact import BrandFacts, Sighting
from cs.domain.mail.mailbox import DomainFacts
from cs.eventlog.fingerprints import profile_print
from cs.keystore.wrapping import PAID_CALLS
from cs.operations.operator import Operator
from cs.paid_calls.register import CallLease, CallRegister, PaidCall, PaidCalls
from cs.plugins.verifiers import DomainCheck
from cs.projections.reading import Reading
from cs.projections.returned import RETURNED
from cs.projections.runner import ViewRunner
from cs.projections.searches import RESULTS
from cs.runtime.clock import Clock, SystemClock
from cs.settings import Settings
from harness.in_process import Service, one_process
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, ADA, BEN, Directory, Mailboxes, Staff
from harness.stores import Stores, opened, stores_in_memory
from history.people import PastLookup, Seen, store

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


class AwayKeys(MemoryKeyStore):
    """Fails after it has destroyed, as when the answer is lost, while it is `away`."""

    Error = KeyStoreUnavailable
    away = False

    async def destroy(self, names: Iterable[str]) -> None:
        await super().destroy(names)
        if self.away:
            raise self.Error("the key store is away")


@dataclass(kw_only=True)
class Erasable(Stores, Service):
    """A service, and the stores that it runs on."""

    def names(self, answer: Mapping[str, Any]) -> list[str]:
        return [contact["full_name"] for contact in answer["contacts"]]

    async def rebuilt(self, key_id: str, search: str) -> bytes | None:
        """Return the body of *search* as views rebuilt from the log's start have it."""
        async with stores_in_memory(self.log, self.keys) as fresh:
            runner = ViewRunner(self.log, fresh.views, self.keys)
            await runner.catch_up()
            reading = Reading(self.log, fresh.views, runner, self.keys)
            found = await reading.search(search, key_id)
        return found.body if found else None

    async def result_keys(self) -> set[str | None]:
        """Return the keys of the answers in the views."""
        return {row.key for _, row in await self.views.all(RESULTS)}

    async def returned_on(self, day: date) -> Sequence[Any]:
        """Return the lookups that a search last returned on *day*, as the views have them."""
        return await self.views.tagged(RETURNED, day.isoformat())


@asynccontextmanager
async def erasable(
    tools: StagePlugins,
    keys: MemoryKeyStore | None = None,
    *,
    clock: Clock | None = None,
    months: int | None = None,
    log: MemoryEventLog | None = None,
) -> AsyncIterator[Erasable]:
    async with (
        stores_in_memory(log, keys, clock) as stores,
        one_process(
            stores.log, stores.keys, stores.views, tools, clock=stores.clock, months=months
        ) as service,
    ):
        yield Erasable(**vars(stores), running=service.running, operator=service.operator)


@asynccontextmanager
async def erasable_folder(folder: Path, tools: StagePlugins) -> AsyncIterator[Erasable]:
    """Run a service on *folder*."""
    async with (
        opened(folder) as stores,
        one_process(stores.log, stores.keys, stores.views, tools) as service,
    ):
        yield Erasable(**vars(stores), running=service.running, operator=service.operator)


@asynccontextmanager
async def paying_service(
    folder: Path, tools: Callable[[PaidCalls], StagePlugins]
) -> AsyncIterator[Service]:
    """Run a service on *folder* whose *tools* make paid calls."""
    settings = Settings(data_dir=folder)
    async with (
        open_paid_calls(settings) as paid,
        run_embedded(settings, tools(paid), "live") as running,
    ):
        yield Service(running, Operator(running.streams, SystemClock()))


async def person_everywhere(folder: Path, seen: Seen) -> None:
    """Make *folder* with *seen* in its log, and in the remembered answer of a paid call."""
    async with open_command_context(Settings(data_dir=folder), new=True) as data:
        await store(data.log, [PastLookup("Acme", (seen,))])
        (name,) = await data.keys.matching([profile_print(data.keys, seen.profile or "")])
        secret = await data.keys.secret(PAID_CALLS)
    async with CallRegister.in_file(folder / "calls.db", lambda: secret) as calls:
        call = PaidCall(name.rpartition("#")[0], "provider", b"who is at Acme?")
        begun = await calls.begin(call, lease_s=15, again=False)
        assert isinstance(begun, CallLease)
        await calls.answer(begun, seen.full_name.encode())
