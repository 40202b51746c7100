"""What roles report on ``/readyz`` that does not stop them, and what a stage does not load."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from bus.kafka.kafka_cases import client_of
from cs.admin.app import build
from cs.admin.health import Readiness
from cs.assembly.plugins import StagePlugins
from cs.assembly.process import RunningRole
from cs.assembly.roles import run_process_manager, run_project
from cs.assembly.shared_settings import insecure_role
from cs.domain.stages.table import STAGES
from cs.domain.stages.work import Alive, Outcome
from cs.postgres.pool import open_pool
from cs.settings import Settings
from harness.outside import ACME, ADA, Directory, Mailboxes, Staff
from system.older_keys.forms import OnDatabases, on_new_databases

OTHERS = ("cs.outcomes.v1", "cs.dead-letters.v1", "cs.events.v1")
FORGED = Outcome(
    lookup="brand-0a1b.1", stage="ranking", attempt=1, finding=Alive(), receipt="made-up"
)


@pytest.fixture
async def form(tmp_path: Path, postgres: str) -> AsyncIterator[OnDatabases]:
    async with on_new_databases(postgres, tmp_path) as form:
        yield form


async def reported(role: RunningRole, field: str) -> Any:
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
            lost = await reported(role, "keys_lost")

    assert lost == {"missing": 1}


async def test_outcomes_that_were_forged_are_counted(
    form: OnDatabases, kafka: str, topic_prefix: str
) -> None:
    settings = replace(form.settings, kafka=(kafka,), kafka_prefix=topic_prefix)
    client = client_of(kafka, topic_prefix)
    await client.make_topics(*(row.topic for row in STAGES.values()), *OTHERS)

    with capture_logs():
        async with (
            run_project(settings, "live"),  # whose views it waits for
            run_process_manager(settings, "live") as role,
            client.bus() as bus,
        ):
            for _ in range(3):
                await bus.publish("cs.outcomes.v1", key=b"", value=msgspec.json.encode(FORGED))
            while (forged := await reported(role, "outcomes_forged")) < 3:
                pass

    assert forged == 3


#: The log, and what only those have who hold the master key.
HOLDS_KEYS = ("cs.eventlog.postgres", "cs.keystore.postgres", "cs.projections.postgres")


def test_the_process_of_a_stage_loads_no_log_and_no_keys() -> None:
    code = "import sys, cs.assembly.stage_role; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert not set(HOLDS_KEYS) & set(ended.stdout.decode().split())


CLEAR = Settings(
    postgres="postgresql://cs@db.internal,127.0.0.1/cs",
    keys_postgres="postgresql://cs@127.0.0.1/keys",
    kafka=("kafka-1:9092", "[::1]:9092"),
    insecure_postgres=True,
    insecure_kafka=True,
)
CONNECTIONS = {"postgres": ("db.internal",), "kafka": ("kafka-1:9092",)}


async def test_readiness_mentions_it_and_is_as_it_was() -> None:
    assert await Readiness(insecure=CONNECTIONS).check() == (
        True,
        {"ready": True, "insecure": CONNECTIONS},
    )
    assert await Readiness().check() == (True, {"ready": True})


def test_the_log_mentions_what_is_reached_in_clear_at_the_start() -> None:
    with capture_logs() as lines:
        assert insecure_role(CLEAR, "live") == CONNECTIONS
        assert insecure_role(CLEAR, "sandbox") == {}
        assert insecure_role(Settings(), "live") == {}

    assert [(line["event"], line["setting"], line["hosts"]) for line in lines] == [
        ("insecure_connection", "postgres", ["db.internal"]),
        ("insecure_connection", "kafka", ["kafka-1:9092"]),
    ]
