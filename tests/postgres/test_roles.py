"""Roles on PostgreSQL: whom they open, what they wait for, and what they prune."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from contracts.event_log import AT as STARTED_AT
from contracts.event_log import start
from cs.assembly.postgres_stores import open_shared_stores
from cs.assembly.process import RunningRole
from cs.assembly.roles import run_api, run_project
from cs.domain.brand.brand import brand_stream
from cs.domain.brand.events import BrandResolved
from cs.domain.causation import StartCause
from cs.domain.codec import AnyEvent
from cs.domain.contact import Query
from cs.domain.key import settled
from cs.domain.mail.mailbox import DomainFacts
from cs.domain.mail_domain import KnownDomain, LearnDomain, decide
from cs.eventlog.open_work import UnfinishedWork
from cs.eventlog.port import NO_STREAM, Append, LogUnavailable
from cs.eventlog.streams import Streams
from cs.keystore.store import StoredKeys
from cs.operations.operator import NewSecret, Operator
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import MemoryHeartbeats
from cs.pipeline.lookups import Lookups
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.settings import Settings
from domain.acme_run import AT, HOME, STREAM, AcmeRun
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.places import log_in, migrated_database, open_database, streams_of, views_in
from projections.history import DONE, admitted, done

#: A brand with people found and its lookup not at an end.
LIVE = brand_stream(Query("Zenith"))
NAME = "Ada Kern"
#: What `/readyz`, and so each report of a process, asks the key store for.
NO_KEY = "readyz"


@pytest.fixture
async def settings(postgres: str, tmp_path: Path) -> AsyncIterator[Settings]:
    key_file = tmp_path / "master.key"
    key_file.write_bytes(os.urandom(32))
    key_file.chmod(0o600)
    async with (
        migrated_database(postgres) as dsn,
        migrated_database(postgres) as keys_dsn,
    ):
        yield Settings(postgres=dsn, keys_postgres=keys_dsn, master_key_file=key_file)


@pytest.fixture
async def key(settings: Settings) -> NewSecret:
    """Return a key with one search that is done; somebody was found for both brands."""
    async with open_shared_stores(settings, "test") as data:
        operator = Operator(Streams(data.log), SystemClock())
        await operator.choose_world("live")
        key = await operator.create_key("agency", 9)
        search: list[AnyEvent] = [
            admitted("s-done", f"{DONE}.1"),
            settled("s-done", f"{DONE}.1", "done", 1, cached=False, at=AT),
        ]
        await data.log.append([Append(DONE, NO_STREAM, done().events)])
        await data.log.append([Append(LIVE, NO_STREAM, AcmeRun(stream=LIVE).resolved().events)])
        await data.log.append([Append(f"key-{key.id}", 0, search)])
        await ViewRunner(data.log, data.views, data.keys).catch_up()
        return key


class AskedFor:
    """The data keys that a process asked for, by name."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: set[str] = set()
        find, look = StoredKeys.find, StoredKeys.look

        async def find_noted(store: StoredKeys, names: Iterable[str]) -> Mapping[str, bytes]:
            wanted = list(names)
            self.names.update({*wanted} - {NO_KEY})
            return await find(store, wanted)

        async def look_noted(
            store: StoredKeys, names: Iterable[str]
        ) -> Mapping[str, bytes | None]:
            wanted = list(names)
            self.names.update({*wanted} - {NO_KEY})
            return await look(store, wanted)

        monkeypatch.setattr(StoredKeys, "find", find_noted)
        monkeypatch.setattr(StoredKeys, "look", look_noted)


async def test_the_api_asks_for_the_key_of_an_answer_and_of_no_person(
    settings: Settings, key: NewSecret, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = AskedFor(monkeypatch)
    async with (
        asyncio.timeout(20),
        run_api(settings, "live") as role,
        open_shared_stores(settings, "test") as others,
    ):
        assert role.app is not None
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(role.app),
            base_url="http://api/v1",
            headers={"Authorization": f"Bearer {key.key}"},
        )
        joined = await client.post("/contacts", json={"brand": "Zenith"})  # folds that brand
        assert joined.status_code == 202, joined.text
        assert not asked.names

        found = AcmeRun(stream="brand-found").resolved()
        head = await others.log.append([Append("brand-found", NO_STREAM, found.events)])
        asked.names.clear()  # by those who appended it
        ended = settled("s-new", f"{DONE}.1", "done", 1, cached=True, at=AT)
        await others.log.append(
            [Append(f"key-{key.id}", 3, [admitted("s-new", f"{DONE}.1"), ended])]
        )
        # Views that nobody moves: what they lack is read from the log.
        answer = await client.get("/searches/s-new")

        assert answer.status_code == 200, answer.text
        assert NAME in answer.text
        assert head > 0
        assert asked.names == {f"result:{DONE}.1"}


async def test_a_process_that_answers_calls_removes_starts_that_no_ceiling_needs(
    settings: Settings,
) -> None:
    async with open_shared_stores(settings, "test") as data:
        await Operator(Streams(data.log), SystemClock()).choose_world("live")
        for n, hour in enumerate([0, 1, 100]):
            await start(data.log, n, STARTED_AT + timedelta(hours=hour), None)
        await ViewRunner(data.log, data.views, data.keys).catch_up()
    assert settings.postgres is not None
    async with (
        asyncio.timeout(20),
        open_database(settings.postgres) as pool,
        run_api(settings, "live"),
    ):
        while await pool.fetchval("SELECT min(number) FROM lookup_starts") != 3:
            pass


@pytest.mark.usefixtures("key")
async def test_an_api_shows_that_no_relay_leads_and_how_far_the_last_one_was(
    settings: Settings,
) -> None:
    assert settings.postgres is not None
    async with (
        asyncio.timeout(20),
        open_database(settings.postgres) as pool,
        run_api(settings, "live") as role,
    ):
        await pool.execute("INSERT INTO leases VALUES ('driver', 'a:1', 1, 'infinity')")
        await pool.execute("INSERT INTO leases VALUES ('relay', 'a:2', 1, '-infinity')")
        await pool.execute("INSERT INTO checkpoints VALUES ('relay', 2, 1)")
        lines = (await role.ready.page(""))[0].decode().splitlines()
        head = await pool.fetchval("SELECT max(notification_id) FROM stored_events")

    assert 'cs_lease_taken{lease="driver"} 1.0' in lines
    assert 'cs_lease_taken{lease="relay"} 0.0' in lines
    assert f'cs_follower_lag_events{{follower="relay"}} {head - 2:.1f}' in lines
    (lag,) = (
        each for each in lines if each.startswith("cs_follower_lag_seconds") and "relay" in each
    )
    assert float(lag.split()[1]) > 0


@pytest.mark.usefixtures("key")
async def test_a_page_is_shown_in_time_while_the_database_hangs(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert settings.postgres is not None
    async with open_database(settings.postgres) as pool, run_api(settings, "live") as role:
        await role.ready.page("")  # which opens connections
        monkeypatch.setattr("cs.admin.health.WITHIN_S", 0.2)
        hung = [row["pid"] for row in await pool.fetch(_OTHERS)]
        try:
            for pid in hung:
                os.kill(pid, signal.SIGSTOP)
            began = time.monotonic()
            page = (await role.ready.page(""))[0].decode()
            took_s = time.monotonic() - began
        finally:
            for pid in hung:
                os.kill(pid, signal.SIGCONT)

    assert 'cs_not_measured{part="cluster"} 1.0' in page
    assert took_s < 5, "a connection takes as long to give a query up"


_OTHERS = """
SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


async def test_views_that_cannot_be_read_while_it_takes_the_lead_end_no_role(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.postgres.pool.STATEMENT_TIMEOUT_S", 0.3)
    assert settings.postgres is not None
    async with open_database(settings.postgres) as pool:
        views = views_in(pool)
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


IMPOSSIBLE = ("a\0b.test", "\0", "", "x" * 300, "\u202eacme.test")


async def test_a_mail_domain_that_cannot_be_a_name_is_not_known(pool: Any) -> None:
    facts = DomainFacts(catch_all=True)
    events = [
        replace(each, brand=replace(each.brand, mail_domains=(*IMPOSSIBLE, HOME)))
        if isinstance(each, BrandResolved) and each.brand
        else each
        for each in AcmeRun().verifying().events
    ]
    async with (
        asyncio.timeout(30),
        log_in(pool, MemoryKeyStore()) as log,
    ):
        streams = streams_of(log)
        await log.append([Append(STREAM, NO_STREAM, events)])
        learn = LearnDomain(facts=facts, at=AT)
        await streams.change(
            f"mail-domain-{HOME}", lambda state: decide(learn, state), caused_by=StartCause()
        )

        known = await Lookups(streams, ManualClock(AT)).known(f"{STREAM}.1")

    assert known == {HOME: KnownDomain(facts)}
