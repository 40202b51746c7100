"""What roles report on ``/readyz`` that does not stop them, and what a stage does not load."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from bus.kafka.kafka_cases import settings_for
from cs.admin.app import build
from cs.assembly.plugins import StagePlugins
from cs.assembly.process import RunningRole
from cs.assembly.roles import run_process_manager, run_project
from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.topics import apply
from cs.bus.topics import OUTCOMES, TOPICS, encode
from cs.domain.stages.work import Alive, Outcome
from cs.postgres.pool import open_pool
from harness.outside import ACME, ADA, Directory, Mailboxes, Staff
from harness.servers.databases import new_database
from system.older_keys.forms import OnDatabases

FORGED = Outcome(
    lookup="brand-0a1b.1", stage="ranking", attempt=1, finding=Alive(), receipt="made-up"
)


@pytest.fixture
async def form(tmp_path: Path, postgres: str, database: str) -> AsyncIterator[OnDatabases]:
    async with new_database(postgres) as keys:
        form = OnDatabases(database, keys, tmp_path)
        await form.migrate()
        yield form


async def told(role: RunningRole, field: str) -> Any:
    """Return *field* of the role's ``/readyz`` once it is there; the role stays ready."""
    transport = httpx.ASGITransport(build(role.ready))
    async with (
        asyncio.timeout(60),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        while True:
            answer = await client.get("/readyz")
            if field in answer.json():
                assert (answer.status_code, answer.json()["ready"]) == (200, True)
                return answer.json()[field]


async def test_keys_that_are_lost_are_counted(form: OnDatabases) -> None:
    tools = StagePlugins([Directory({"acme": ACME})], [Staff((ADA,))], [Mailboxes(frozenset())])
    async with form.service(tools) as service:
        found = await service.search(await service.new_key(), brand="Acme")
        assert [each["full_name"] for each in found.json()["contacts"]] == ["Ada Kern"]
    await form.forget_views()
    assert form.settings.keys_postgres is not None
    async with open_pool(form.settings.keys_postgres, role="test") as pool:
        await pool.execute("DELETE FROM data_key")

    with capture_logs():
        async with run_project(form.settings, "live") as role:
            lost = await told(role, "keys_lost")

    assert lost == {"missing": 1}


async def test_outcomes_that_were_forged_are_counted(
    form: OnDatabases, kafka: str, topic_prefix: str
) -> None:
    settings = replace(form.settings, kafka=(kafka,), kafka_prefix=topic_prefix)
    bus_settings = settings_for(kafka, topic_prefix)
    await apply(bus_settings, TOPICS, partitions=1, replication=1)

    with capture_logs():
        async with (
            run_project(settings, "live"),  # whose views it waits for
            run_process_manager(settings, "live") as role,
            KafkaBus(bus_settings) as bus,
        ):
            for _ in range(3):
                await bus.publish(OUTCOMES, key=b"", value=encode(FORGED))
            while (forged := await told(role, "outcomes_forged")) < 3:
                pass

    assert forged == 3


#: The log, and what only those have who hold the master key.
HOLDS_KEYS = ("cs.eventlog.postgres", "cs.keystore.postgres", "cs.projections.postgres")


def test_the_process_of_a_stage_loads_no_log_and_no_keys() -> None:
    code = "import sys, cs.assembly.stage_role; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert not set(HOLDS_KEYS) & set(ended.stdout.decode().split())
