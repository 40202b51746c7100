"""An admission whose connection to PostgreSQL was given up may be stored yet: that is told."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import timedelta

import pytest

from cs.api.admission import SearchAdmission
from cs.api.body import ContactsRequest
from cs.api.keys import Caller
from cs.api.running_lookups import RunningLookups
from cs.api.waiting import TimeLimits
from cs.domain.api_key import hash_key
from cs.domain.contact import Query
from cs.domain.key import SearchAdmitted
from cs.eventlog import postgres as postgres_append
from cs.eventlog.errors import AppendInDoubt, LogUnavailable
from cs.eventlog.port import Append, Ceiling, EventLog
from cs.eventlog.postgres import PostgresEventLog
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.postgres.pool import Pool, open_pool
from cs.projections.reading import Reusable
from cs.runtime.clock import SystemClock
from eventlog.postgres.test_in_doubt import LOCK
from eventlog.postgres.test_log import waits_for_a_lock
from harness.memory_keys import MemoryKeyStore
from postgres.cutting_proxy import CuttingProxy, cutting_proxy
from postgres.migrated import migrated

ASKED = ContactsRequest("Acme", Query("Acme"), wait=False, idempotency=None)
LONG = TimeLimits(admit_s=60, answer_s=60)


@pytest.fixture
async def direct(database: str) -> AsyncIterator[Pool]:
    """A way to the database that is not cut."""
    async with migrated(database) as pool:
        yield pool


@pytest.fixture
async def proxy(database: str, direct: Pool) -> AsyncIterator[CuttingProxy]:
    del direct  # has the schema
    async with cutting_proxy(database) as proxy:
        yield proxy


class Missed(PostgresEventLog):
    """Has a database that cannot be reached at the moment of the next append of a search."""

    def __init__(self, pool: Pool, proxy: CuttingProxy) -> None:
        super().__init__(pool, MemoryKeyStore())
        self._proxy = proxy
        self.refused: Exception | None = None

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        if ceiling is None:
            return await super().append(appends, ceiling)
        self._proxy.shut()
        self._proxy.cut()
        with suppress(LogUnavailable):
            await self.head()  # the end of every connection has been seen then
        try:
            return await super().append(appends, ceiling)
        except LogUnavailable as error:
            self.refused = error
            raise
        finally:
            await self._proxy.open()


@pytest.fixture
async def log(proxy: CuttingProxy) -> AsyncIterator[PostgresEventLog]:
    async with (
        open_pool(proxy.dsn, role="test") as pool,
        PostgresEventLog(pool, MemoryKeyStore()) as log,
    ):
        yield log


async def test_what_never_reached_the_database_is_not_in_doubt(proxy: CuttingProxy) -> None:
    async with open_pool(proxy.dsn, role="test") as pool, Missed(pool, proxy) as log:
        admitting, caller = await ready(log)

        with pytest.raises(LogUnavailable) as told:
            await admitting.admit(caller, ASKED, "req_1", LONG)

        assert told.value is log.refused
        assert "nothing was stored" in str(told.value)
        assert await _admissions(log, caller.key_id) == 0


async def test_a_commit_that_lands_after_the_log_was_looked_at_was_in_doubt(
    log: PostgresEventLog,
    proxy: CuttingProxy,
    direct: Pool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(postgres_append, "IN_DOUBT_S", 0.3)
    admitting, caller = await ready(log)
    async with direct.acquire() as holder, holder.transaction():
        await holder.execute(LOCK)
        admission = asyncio.create_task(admitting.admit(caller, ASKED, "req_1", LONG))
        await waits_for_a_lock(direct)
        proxy.cut()

        with pytest.raises(AppendInDoubt):
            await admission
    async with asyncio.timeout(10):
        while not await _admissions(log, caller.key_id):
            pass

    assert await _admissions(log, caller.key_id) == 1


async def none_is_reused(lookup: str) -> Reusable:
    raise AssertionError(f"{lookup} answers nobody here")


async def ready(log: EventLog) -> tuple[SearchAdmission, Caller]:
    """Return what admits to *log*, and whom."""
    clock, streams = SystemClock(), Streams(log)
    key = await Operator(streams, clock).create_key("test", 10)
    admitting = SearchAdmission(
        streams,
        clock,
        ceiling=None,
        deadline=timedelta(seconds=60),
        contacts=25,
        lookups=RunningLookups(),
        reusable=none_is_reused,
    )
    return admitting, Caller(key.id, hash_key(key.key))


async def _admissions(log: PostgresEventLog, key_id: str) -> int:
    recorded = await log.read(f"key-{key_id}")
    return sum(isinstance(each.event, SearchAdmitted) for each in recorded)
