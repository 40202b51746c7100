"""What an earlier release left behind, a data folder and a cluster's databases, goes on here.

`stored_before/README.md` says how it was made.  Time goes on where it stopped, so that what
was reused then is reused here, however old the files are.
"""

import json
import tarfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from cli.command import ran
from cs.admin.sandbox_clock import ClockAdvancer, SandboxClock
from cs.assembly.one_process import run_embedded
from cs.assembly.plugins import open_plugins
from cs.assembly.postgres_stores import open_shared_stores
from cs.assembly.sandbox_world import run_sandbox
from cs.operations.operator import NewSecret, Operator
from cs.runtime.clock import SystemClock
from cs.sandbox.world import load as load_world
from cs.settings import load as load_settings
from harness.in_process import Service, one_process
from harness.servers.databases import new_database

pytestmark = pytest.mark.slow

FILES = Path(__file__).with_name("stored_before")
#: Of the bundled world; not searched before.
NEW_BRAND = "Ossowen Skincare"
#: Past the deadline of the lookups that ran.
UNTIL_ENDED = timedelta(minutes=3)
#: How those end.  The greylist forgot at the start of the world that it had been asked.
ENDS = {"Junimar": ("done", True), "Quellmark": ("failed", False)}


@dataclass(frozen=True)
class Before:
    """What the earlier release answered last."""

    answers: dict[str, Any]

    @property
    def left_at(self) -> datetime:
        return datetime.fromisoformat(self.answers["left_at"])

    @property
    def searches(self) -> list[tuple[NewSecret, dict[str, Any]]]:
        return [(self.key(each["key"]), each["record"]) for each in self.answers["searches"]]

    def key(self, key_id: str) -> NewSecret:
        return NewSecret(key_id, self.answers["keys"][key_id])

    def of(self, status: str) -> list[tuple[NewSecret, dict[str, Any]]]:
        return [each for each in self.searches if each[1]["status"] == status]

    def clock(self, kept: Path) -> SandboxClock:
        """Return the clock in *kept*, on time that goes on from `left_at`."""
        behind = datetime.now(UTC) - self.left_at
        return SandboxClock.on_file(kept, SystemClock(lambda: datetime.now(UTC) - behind))


@dataclass(frozen=True)
class Continued:
    """The service of today on what was left behind."""

    service: Service

    @property
    def advancing(self) -> ClockAdvancer:
        found = self.service.running.clock_advancer
        assert found is not None, "a sandbox's clock can be moved"
        return found

    async def get(self, key: NewSecret, path: str) -> dict[str, Any]:
        async with self.service.client(key) as client:
            answer = await client.get(path)
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body


@dataclass(frozen=True)
class Stored:
    before: Before
    run: Callable[[], AbstractAsyncContextManager[Continued]]
    environment: dict[str, str]  # of commands

    def verified(self) -> dict[str, Any]:
        """Return what `cs log verify` counts; it has to be content."""
        verify = ran("log", "verify", "--json", **self.environment)
        assert verify.code == 0, verify
        return verify.rows[-1]


def unpacked(name: str, folder: Path) -> Before:
    with tarfile.open(FILES / f"{name}.tar.gz") as archive:
        # Python before 3.11.4 has no filters, and does not look at this.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return Before(json.loads((FILES / f"{name}.json").read_text()))


@pytest.fixture
def folder(tmp_path: Path) -> Stored:
    data = tmp_path / "data"
    before = unpacked("folder", data)
    environment = {"CS_DATA_DIR": str(data)}

    @asynccontextmanager
    async def run() -> AsyncIterator[Continued]:
        clock = before.clock(data / "clock")
        async with (
            run_sandbox(
                load_settings(environment=environment),
                load_world(),
                tmp_path / "certificates",
                clock,
            ) as settings,
            open_plugins(settings, clock, world="sandbox") as tools,
            run_embedded(settings, tools, "sandbox", clock) as running,
        ):
            service = Service(running, Operator(running.streams, clock))
            yield Continued(service)

    return Stored(before, run, environment)


@pytest.fixture
async def databases(tmp_path: Path, postgres: str) -> AsyncIterator[Stored]:
    before = unpacked("databases", tmp_path)
    names = {"service": "postgres", "keys": "keys_postgres", "stages": "stages_postgres"}
    async with AsyncExitStack() as stack:
        dsns: dict[str, str] = {}
        for store, setting in names.items():
            dsns[setting] = await stack.enter_async_context(new_database(postgres))
            await restore(dsns[setting], (tmp_path / f"{store}.sql").read_text())
        environment = {f"CS_{name.upper()}": dsn for name, dsn in dsns.items()}
        environment["CS_DATA_DIR"] = str(tmp_path / "unused")
        environment["CS_MASTER_KEY_FILE"] = str(tmp_path / "master.key")
        migrated = ran("db", "migrate", **environment)
        assert migrated.code == 0, migrated

        @asynccontextmanager
        async def run() -> AsyncIterator[Continued]:
            clock = before.clock(tmp_path / "clock")
            settings = load_settings(environment=environment)
            async with (
                run_sandbox(
                    settings, load_world(), tmp_path / "certificates", clock
                ) as settings,
                open_plugins(settings, clock, world="sandbox") as tools,
                open_shared_stores(settings, "test", "sandbox") as data,
                one_process(data.log, data.keys, data.views, tools, clock=clock) as service,
            ):
                yield Continued(service)

        yield Stored(before, run, environment)


async def restore(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(sql)
    finally:
        await connection.close()


@pytest.fixture(params=["folder", "databases"])
def stored(request: pytest.FixtureRequest) -> Stored:
    found: Stored = request.getfixturevalue(request.param)
    return found


async def test_answers_are_unchanged_and_the_service_continues(stored: Stored) -> None:
    """Idempotency keys still count; reuse, new searches and the lookups that ran go on."""
    before = stored.before
    counted = stored.verified()
    key, found = before.of("done")[-1]  # of the key that was rotated
    async with stored.run() as today:
        await has_answered_before(today, before)

        reused = await search(today, key, found["brand"])
        assert (reused["cached"], reused["contacts"]) == (True, found["contacts"])
        new = await search(today, key, NEW_BRAND)
        assert (new["status"], new["cached"], new["charged"]) == ("done", False, True)
        assert [contact["email_status"] for contact in new["contacts"]] == ["verified"]

        await today.advancing.advance(UNTIL_ENDED)
        for key, record in before.of("running"):
            ended = await today.get(key, f"/searches/{record['id']}")
            assert (ended["status"], ended["charged"]) == ENDS[record["brand"]], ended

        stored_events = await today.service.running.streams.log.tail(0, 10_000)
        events = repr([recorded.event for recorded in stored_events])
        assert found["contacts"][0]["email"] in events
        assert before.answers["erased"] not in events

    after = stored.verified()
    assert after["events"] > counted["events"]
    assert (counted["unfinished"], after["unfinished"]) == (3, 0)
    assert after["views_at"] == after["events"]


async def has_answered_before(today: Continued, before: Before) -> None:
    """Assert that each call is answered as the earlier release has answered it."""
    for key, record in before.searches:
        assert await today.get(key, f"/searches/{record['id']}") == record
    for key_id, usage in before.answers["usage"].items():
        assert await today.get(before.key(key_id), "/usage") == usage
    async with today.service.client(NewSecret("", before.answers["revoked"])) as client:
        assert (await client.get("/usage")).status_code == 401
    idempotent = before.answers["idempotent"]
    ((key, record),) = [
        each for each in before.searches if each[1]["id"] == idempotent["search"]
    ]
    async with today.service.client(key) as client:
        again = await client.post(
            "/contacts",
            json={"brand": record["brand"], "wait": True},
            headers={"Idempotency-Key": idempotent["key"]},
        )
    assert again.json() == record


async def search(today: Continued, key: NewSecret, brand: str) -> dict[str, Any]:
    answer: httpx.Response = await today.service.search(key, brand=brand)
    assert answer.status_code == 200, answer.text
    record: dict[str, Any] = answer.json()
    return record
