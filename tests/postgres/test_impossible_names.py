"""Names in old events that PostgreSQL cannot hold are never asked for."""

import asyncio

from msgspec.structs import replace

from cs.domain.brand.events import BrandResolved
from cs.domain.causation import StartCause
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import KnownDomain, LearnDomain, decide
from cs.eventlog.port import NO_STREAM, Append
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.streams import Streams
from cs.pipeline.lookups import Lookups
from domain.acme_run import AT, HOME, STREAM, AcmeRun
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from postgres.migrated import migrated

IMPOSSIBLE = ("a\0b.test", "\0", "", "x" * 300, "\u202eacme.test")


async def test_a_mail_domain_that_cannot_be_a_name_is_not_known(database: str) -> None:
    facts = DomainFacts(catch_all=True)
    events = [
        replace(each, brand=replace(each.brand, mail_domains=(*IMPOSSIBLE, HOME)))
        if isinstance(each, BrandResolved) and each.brand
        else each
        for each in AcmeRun().verifying().events
    ]
    async with (
        asyncio.timeout(30),
        migrated(database) as pool,
        PostgresEventLog(pool, MemoryKeyStore()) as log,
    ):
        streams = Streams(log)
        await log.append([Append(STREAM, NO_STREAM, events)])
        learn = LearnDomain(facts=facts, at=AT)
        await streams.change(
            f"mail-domain-{HOME}", lambda state: decide(learn, state), caused_by=StartCause()
        )

        known = await Lookups(streams, ManualClock(AT)).known(f"{STREAM}.1")

    assert known == {HOME: KnownDomain(facts)}
