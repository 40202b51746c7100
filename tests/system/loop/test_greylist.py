"""A server that names a wait which is too short is asked until it opens, in one lookup."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cs.admin.sandbox_clock import SandboxClock
from cs.assembly.one_process import clock_advance
from cs.assembly.plugins import StagePlugins
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.plugins.verifiers import DomainCheck
from cs.runtime.clock import Clock
from harness.in_process import in_memory
from harness.manual_clock import ManualClock
from harness.outside import ACME, ADA, Directory, Staff

ADDRESS = "ada.kern@acme.test"
SECOND = timedelta(seconds=1)
#: No time goes by but what the clock is moved by.
AT = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Greylist:
    """A verifier of one mailbox whose server always says "in two seconds"."""

    clock: Clock
    opens_after: timedelta
    name: str = "listed"
    cost: int = 0
    asked_at: list[datetime] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        del mail_domain, known
        yield GreylistedDomain(self)


@dataclass
class GreylistedDomain:
    greylist: Greylist
    learned: DomainFacts = DomainFacts()

    async def check(self, address: str) -> Evidence:
        now = self.greylist.clock.now()
        verdict, reason, retry_in_s = Verdict.UNDELIVERABLE, "recipient-refused", None
        if address == ADDRESS:
            self.greylist.asked_at.append(now)
            self.greylist.asked.set()
            if now - self.greylist.asked_at[0] < self.greylist.opens_after:
                verdict, reason, retry_in_s = Verdict.UNKNOWN, "greylisted", 2.0
            else:
                verdict, reason = Verdict.DELIVERABLE, "recipient-accepted"
        return Evidence(
            address=address,
            verdict=verdict,
            reason=reason,
            verifier=self.greylist.name,
            at=now,
            retry_in_s=retry_in_s,
        )


@pytest.mark.parametrize(
    ("opens_after_s", "outcome", "attempts"),
    [(1, "done", 2), (60, "done", 6), (95, "done", 7), (1_000, "failed", 7)],
)
async def test_a_greylist_that_names_two_seconds_is_asked_while_there_is_time(
    tmp_path: Path, opens_after_s: int, outcome: str, attempts: int
) -> None:
    clock = SandboxClock.on_file(tmp_path / "clock", ManualClock(AT))
    greylist = Greylist(clock, opens_after_s * SECOND)
    plugins = StagePlugins([Directory({"acme": ACME})], [Staff((ADA,))], [greylist])
    async with in_memory(plugins, clock=clock) as service:
        key = await service.new_key()
        search = asyncio.create_task(service.search(key, brand="Acme"))
        await greylist.asked.wait()
        await clock_advance(service.running, clock).advance(121 * SECOND)
        started = (await search).json()
        async with service.client(key) as client:
            record = (await client.get(f"/searches/{started['id']}")).json()

    assert record["status"] == outcome
    assert len(greylist.asked_at) == attempts
    emails = [contact["email"] for contact in record["contacts"]]
    assert emails == ([ADDRESS] if outcome == "done" else [None])
