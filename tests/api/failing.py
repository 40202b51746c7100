"""Outside worlds and a log in which something is wrong, written to their ports."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from msgspec.structs import replace

from cs.assembly.plugins import StagePlugins
from cs.domain.contact import BrandFacts, Query
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.eventlog.port import NO_STREAM, Append, Ceiling, EventLog, RecordedEvent
from cs.plugins.sources import BrandAnswer, SourceStatus
from cs.plugins.verifiers import DomainCheck
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, BEN, Directory, Mailboxes, MailboxesOf, Staff


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


class Unwritable(MemoryEventLog):
    """A log that can be read and not written to."""

    def __init__(self, log: EventLog, error: Exception) -> None:
        super().__init__(MemoryKeyStore())
        self._log = log
        self._error = error

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        del appends, ceiling
        raise self._error

    async def read(
        self, stream: str, after: int = NO_STREAM, limit: int | None = None
    ) -> Sequence[RecordedEvent]:
        return await self._log.read(stream, after, limit)


NEVER = StagePlugins([SilentDirectory()], [], [])
AWAY = StagePlugins([Directory({"acme": ACME})], [Staff((), SourceStatus.FAILED)], [])
CUT_OFF = StagePlugins([Directory({"acme": ACME})], [Staff((BEN,))], [CutOff(frozenset())])
