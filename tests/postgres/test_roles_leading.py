"""Roles that take the lead while what they lead on cannot be read wait for it; none ends."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import pytest
from structlog.testing import capture_logs

from cs.assembly.process import RunningRole
from cs.assembly.roles import run_project
from cs.eventlog.open_work import UnfinishedWork
from cs.eventlog.port import LogUnavailable
from cs.eventlog.streams import Streams
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.postgres.pool import connected, open_pool
from cs.postgres.schema import migrate
from cs.projections.catalogue import projections
from cs.projections.postgres import postgres_views
from cs.settings import Settings
from domain.acme_run import AT
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.servers.databases import new_database


@pytest.fixture
async def settings(postgres: str, tmp_path: Path) -> AsyncIterator[Settings]:
    key = tmp_path / "master.key"
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    async with new_database(postgres) as service, new_database(postgres) as keys:
        for dsn, store in ((service, "service"), (keys, "keys")):
            async with open_pool(dsn, role="test") as pool, connected(pool) as connection:
                await migrate(connection, store)  # type: ignore[arg-type]
        yield Settings(postgres=service, keys_postgres=keys, master_key_file=key)


async def test_views_that_cannot_be_read_while_it_takes_the_lead_end_no_role(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.assembly.databases.open_pool", _impatient)
    assert settings.postgres is not None
    async with open_pool(settings.postgres, role="test") as pool:
        views = postgres_views(pool, projections())
        assert await views.position() == 0  # makes their tables
        await views.close()
    other = await asyncpg.connect(settings.postgres)
    try:
        lock = other.transaction()
        await lock.start()
        await other.execute("LOCK TABLE view_builds IN ACCESS EXCLUSIVE MODE")
        with capture_logs() as logs:
            async with run_project(settings, "live") as role:
                async with asyncio.timeout(20):
                    while not any(each["event"] == "log_away" for each in logs):
                        await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
                await lock.rollback()
                await _leads(role)
    finally:
        await other.close()


def _impatient(dsn: str, **options: object) -> object:
    return open_pool(dsn, **options, statement_timeout_s=0.3)  # type: ignore[arg-type]


async def _leads(role: RunningRole) -> None:
    async with asyncio.timeout(20):
        while not (await role.ready.check())[1]["leads"]:
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])


class AwayAtFirst:
    """Tells what is unfinished at the third time of asking."""

    def __init__(self) -> None:
        self.asked = 0

    async def unfinished(self) -> UnfinishedWork:
        self.asked += 1
        if self.asked < 3:
            raise LogUnavailable("the views are 7 events behind the log")
        return UnfinishedWork(0, [], [])


async def test_a_driver_that_takes_the_lead_waits_for_the_views(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.eventlog.follow.RETRY_S", 0.001)
    log, clock, views = MemoryEventLog(MemoryKeyStore()), ManualClock(AT), AwayAtFirst()
    heartbeats = MemoryHeartbeats(clock.monotonic)
    driver = Driver(Streams(log), views, clock, heartbeats, restart_work=False)
    driving = asyncio.create_task(driver.run())
    async with asyncio.timeout(10):
        while not driver.at_rest(0):
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])

    assert views.asked == 3
    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
