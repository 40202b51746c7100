"""Outside worlds and a log in which something is wrong, written to their ports."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Any

import httpx
from msgspec.structs import replace

from cs.assembly.plugins import StagePlugins
from cs.checks.checks import Check, MemoryChecks
from cs.domain.contact import BrandFacts, Query
from cs.domain.mail.mailbox import DomainFacts, Evidence, Verdict
from cs.eventlog.port import (
    NO_STREAM,
    Append,
    Ceiling,
    EventLog,
    LogUnavailable,
    RecordedEvent,
)
from cs.operations.operator import NewSecret
from cs.plugins.sources import BrandAnswer, SourceStatus
from cs.plugins.verifiers import DomainCheck
from harness.in_process import Service, in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
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


class Mistaken(MemoryChecks):
    """Counts checks with a mistake in it."""

    async def count(self, key_id: str, at: datetime) -> Check:
        raise RuntimeError(f"{key_id} at {at}")


class Failing:
    """A service in memory, one key of it, and parts that fail on demand."""

    def __init__(self, service: Service, key: NewSecret) -> None:
        self.key = key
        self.app = service.running.app
        self._running = service.running
        self._log = service.running.streams.log

    def break_log(self, why: str, *, late: bool = False, bug: bool = False) -> None:
        """Let every append fail, as one that was *late* or with an error nobody foresaw."""
        error: Exception = RuntimeError(why) if bug else LogUnavailable(why)
        if late:
            error.__cause__ = TimeoutError()
        self._running.streams.log = Unwritable(self._log, error)

    def mistake_checks(self) -> None:
        self._running.api.checks = Mistaken()

    async def call(
        self, method: str, path: str, *, secret: str | None = None, **sent: Any
    ) -> httpx.Response:
        """Call with the key, or with another *secret*; a bug is an answer."""
        headers = {"Authorization": f"Bearer {secret or self.key.key}"}
        headers |= sent.pop("headers", {})
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app, raise_app_exceptions=False),
            base_url="http://service.test/v1",
        ) as client:
            return await client.request(method, path, headers=headers, **sent)


@asynccontextmanager
async def failing(
    world: StagePlugins | None = None, *, quota: int = 10, deadline_s: float = 120
) -> AsyncIterator[Failing]:
    async with in_memory(world or tools(), deadline_s=deadline_s) as service:
        yield Failing(service, await service.new_key(quota))


NEVER = StagePlugins([SilentDirectory()], [], [])
AWAY = StagePlugins([Directory({"acme": ACME})], [Staff((), SourceStatus.FAILED)], [])
CUT_OFF = StagePlugins([Directory({"acme": ACME})], [Staff((BEN,))], [CutOff(frozenset())])


def failed_search(reason: str) -> AbstractAsyncContextManager[Failing]:
    """Serve in a world in which a search for Acme fails for *reason*."""
    world, deadline_s = {
        "no_linkedin": (StagePlugins([Directory({})], [], []), 120.0),
        "no_contacts": (tools(people=(CID,)), 120.0),
        "no_emails": (tools(existing=frozenset()), 120.0),
        "scrape_error": (AWAY, 1.0),
        "timeout": (NEVER, 0.05),
        "error": (CUT_OFF, 120.0),
    }[reason]
    return failing(world, deadline_s=deadline_s)
