"""An older key store comes back under the service: it ends its work, and says what is lost.

Three searches: one ended before the keys were copied, one after, and one runs when they are
put back.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from cli.command import ran
from cs.domain.mail.mailbox import DomainFacts
from cs.plugins.verifiers import DomainCheck
from harness.in_process import Service
from harness.outside import ACME, ADA, BEN, Directory, Mailboxes, tools
from operations.erasure.service import Known
from system.older_keys.forms import Form, form_of

pytestmark = pytest.mark.slow

BEFORE, AFTER, RUNS = "Before", "After", "Runs"


@dataclass
class Gate(Mailboxes):
    """Says nothing of the mailboxes of `RUNS` until it is let."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    let: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        if mail_domain == "runs.test":
            self.asked.set()
            await self.let.wait()
        async with super().open(mail_domain, known) as check:
            yield check


def outside(gate: Gate) -> Any:
    """Return sources that know Ada and Ben at each brand, and *gate*."""
    brands, staff = {}, {}
    for name in (BEFORE, AFTER, RUNS):
        domain, page = f"{name.lower()}.test", f"https://www.linkedin.com/company/{name}"
        facts = {"name": name, "domain": domain, "linkedin_company_url": page}
        brands[name.lower()] = replace(ACME, **facts, mail_domains=(domain,))
        staff[name] = tuple(
            replace(each, company=name, headline=(each.headline or "").replace("Acme", name))
            for each in (ADA, BEN)
        )
    sources = {"brand_sources": [Directory(brands)], "people_sources": [Known(staff)]}
    return replace(tools(), **sources, verifiers=[gate])


def gate() -> Gate:
    return Gate(frozenset(f"ada.kern@{n.lower()}.test" for n in (BEFORE, AFTER, RUNS)))


@pytest.fixture(params=["files", "databases"])
async def form(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Form]:
    async with form_of(request, tmp_path) as form:
        yield form


async def get(service: Service, key: Any, search: str) -> dict[str, Any]:
    record = await service.read(key, search)
    assert "status" in record, record
    return {name: value for name, value in record.items() if name != "usage"}


@dataclass
class EarlierSearches:
    """The searches that were made before the keys were put back."""

    key: Any
    before: dict[str, Any]
    after: dict[str, Any]
    runs: str  # the search that runs


async def searched(service: Service, form: Form, at: Gate) -> EarlierSearches:
    """Make the three searches; the keys are copied between the first and the second."""
    key = await service.new_key()
    ended: dict[str, dict[str, Any]] = {}
    for name in (BEFORE, AFTER):
        found = (await service.search(key, brand=name)).json()
        assert [c["email"] is not None for c in found["contacts"]] == [True, False]
        ended[name] = await get(service, key, found["id"])
        if name == BEFORE:
            await form.copy_keys()
    runs: str = (await service.search(key, brand=RUNS, wait=False)).json()["id"]
    await at.asked.wait()
    return EarlierSearches(key, ended[BEFORE], ended[AFTER], runs)


async def test_older_keys_between_two_starts_end_the_open_search_and_are_reported(
    form: Form,
) -> None:
    """Nothing of the people found is in memory any more when the search goes on."""
    here = gate()
    async with form.service(outside(here)) as service:
        earlier = await searched(service, form, here)
    await form.put_keys_back()
    here.let.set()

    async with form.service(outside(here)) as service:
        async with asyncio.timeout(30):
            await service.running.reading.until_settled(earlier.runs)
        runs = await get(service, earlier.key, earlier.runs)
        again = (await service.search(earlier.key, brand=RUNS)).json()
    assert (runs["status"], runs["reason"], runs["charged"]) == (
        "failed",
        "no_emails",
        False,
    )
    assert runs["contacts"] == []  # rather than people without names
    assert (again["status"], again["cached"]) == ("done", False)

    await form.forget_views()
    async with asyncio.timeout(30), form.service(outside(here)) as service:
        assert await get(service, earlier.key, earlier.runs) == runs
        await reads_what_is_left(service, earlier)
    await verifies(form)


async def reads_what_is_left(service: Service, earlier: EarlierSearches) -> None:
    assert await get(service, earlier.key, earlier.before["id"]) == earlier.before
    assert await get(service, earlier.key, earlier.after["id"]) == {
        **earlier.after,
        "contacts": [],
    }
    ready = await service.readyz()
    assert ready.status_code == 200
    lost: Any = ready.json()["keys_lost"]
    assert sum(lost.values()) >= 2


async def verifies(form: Form) -> None:
    verified = await asyncio.to_thread(ran, "log", "verify", "--json", **form.environment)

    *found, counts = verified.rows
    assert {each["kind"] for each in found} == {"key-lost"}
    assert counts["violations"] == len(found) >= 2
    assert all(each["position"] > 0 for each in found)
