"""A worker of a stage cannot open anything: it is given no key, and needs one database only."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from cs.domain.stages.table import OWN_STAGES
from harness.service_process import NotRunning
from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered

pytestmark = pytest.mark.slow

#: What opens the log, the views and people's data.
CLOSED_TO_STAGES = ("CS_POSTGRES", "CS_KEYS_POSTGRES", "CS_MASTER_KEY_FILE")
ACCOUNT = "stage_worker"


def environment_of(pid: int) -> dict[str, str]:
    """Return the environment that the process was really started with."""
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(pair.decode().split("=", 1) for pair in pairs if pair)


async def databases_of(dsn: str, role: str) -> set[str]:
    """Return the databases to which processes of that role are connected."""
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT DISTINCT datname FROM pg_stat_activity WHERE application_name = $1",
            f"cs {role}",
        )
    finally:
        await connection.close()
    return {row["datname"] for row in rows}


async def run(dsn: str, *statements: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


@pytest.fixture
def limited(two_nodes: Cluster) -> Iterator[str]:
    """The address of the stages' database for an account that may connect to no other."""
    server = two_nodes.postgres
    asyncio.run(
        run(
            server.dsn,
            f"CREATE ROLE {ACCOUNT} LOGIN",
            "REVOKE CONNECT ON DATABASE service FROM PUBLIC",
            "REVOKE CONNECT ON DATABASE keys FROM PUBLIC",
            f"GRANT CONNECT ON DATABASE stages TO {ACCOUNT}",
        )
    )
    asyncio.run(
        run(
            server.dsn_of("stages"),
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {ACCOUNT}",
        )
    )
    yield server.dsn_of("stages").replace("cs@", f"{ACCOUNT}@")
    asyncio.run(run(server.dsn_of("stages"), f"DROP OWNED BY {ACCOUNT}"))
    asyncio.run(run(server.dsn, f"DROP OWNED BY {ACCOUNT}", f"DROP ROLE {ACCOUNT}"))


@pytest.mark.parametrize("name", OWN_STAGES)
def test_a_worker_is_given_no_key_and_is_connected_to_one_database(
    two_nodes: Cluster, name: str
) -> None:
    (worker,) = two_nodes.of(f"stage-{name}")
    given = environment_of(worker.pid)

    assert [variable for variable in CLOSED_TO_STAGES if variable in given] == []
    assert [text for text in given.values() if "/service" in text or "/keys" in text] == []
    connected = asyncio.run(databases_of(two_nodes.postgres.dsn, f"stage {name}"))
    assert connected <= {"stages"}


def test_what_a_worker_is_given_opens_no_other_role(two_nodes: Cluster) -> None:
    thief = two_nodes.add("process-manager")
    thief.environment = dict(two_nodes.stage_environment)
    try:
        thief.start()
        with pytest.raises(NotRunning, match="postgres: this role needs it"):
            thief.wait_ready()
    finally:
        thief.end()
        del two_nodes.roles[thief.name]


def test_workers_work_with_an_account_that_only_the_stages_database_knows(
    clustered: Clustered, limited: str
) -> None:
    cluster = clustered.cluster
    for other in ("service", "keys"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            asyncio.run(run(limited.replace("/stages", f"/{other}"), "SELECT 1"))
    workers = [worker for name in OWN_STAGES for worker in cluster.of(f"stage-{name}")]
    before = {worker.name: worker.environment for worker in workers}
    for worker in workers:
        worker.end()
        worker.environment = {**worker.environment, "CS_STAGES_POSTGRES": limited}
    try:
        cluster.start_missing()
        with clustered.client(clustered.new_key()) as client:
            answer = client.post("/contacts", json={"brand": "Veltrana", "wait": True})
    finally:
        for worker in workers:
            worker.end()
            worker.environment = before[worker.name]
        cluster.start_missing()

    assert answer.status_code == httpx.codes.OK
    assert (answer.json()["status"], len(answer.json()["contacts"])) == ("done", 4)
