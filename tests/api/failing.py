"""Outside worlds in which something is wrong, written to their ports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from msgspec.structs import replace

from api.away import Fragile, fragile
from cs.assembly.plugins import StagePlugins
from cs.domain.contact import BrandFacts, Query
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.plugins.sources import BrandAnswer, SourceStatus
from cs.plugins.verifiers import DomainCheck
from harness.outside import ACME, BEN, CID, Directory, Mailboxes, MailboxesOf, Staff, tools


class SilentDirectory:
    """A brand source that never answers."""

    name = "silent"

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        del query, known
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")


class NoReply(MailboxesOf):
    """Gets no reply from anywhere."""

    async def check(self, address: str) -> Evidence:
        found = await super().check(address)
        return replace(found, verdict=Verdict.UNKNOWN, answered=False)


class CutOff(Mailboxes):
    @asynccontextmanager
    async def open(self, mail_domain: str, known: DomainFacts) -> AsyncIterator[DomainCheck]:
        del mail_domain, known
        yield NoReply(self)


NEVER = StagePlugins([SilentDirectory()], [], [])
AWAY = StagePlugins([Directory({"acme": ACME})], [Staff((), SourceStatus.FAILED)], [])
CUT_OFF = StagePlugins([Directory({"acme": ACME})], [Staff((BEN,))], [CutOff(frozenset())])


def failed_search(reason: str) -> AbstractAsyncContextManager[Fragile]:
    """Serve in a world in which a search for Acme fails for *reason*."""
    world, deadline_s = {
        "no_linkedin": (StagePlugins([Directory({})], [], []), 120.0),
        "no_contacts": (tools(people=(CID,)), 120.0),
        "no_emails": (tools(existing=frozenset()), 120.0),
        "scrape_error": (AWAY, 1.0),
        "timeout": (NEVER, 0.05),
        "error": (CUT_OFF, 120.0),
    }[reason]
    return fragile(world, deadline_s=deadline_s)
