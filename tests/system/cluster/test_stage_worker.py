"""A worker of a stage cannot open anything: it is given no key, and needs one database only."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from cs.domain.stages.table import OWN_STAGES
from system.cluster.cluster import Cluster

pytestmark = pytest.mark.slow

#: What opens the log, the views and people's data.
CLOSED_TO_STAGES = ("CS_POSTGRES", "CS_KEYS_POSTGRES", "CS_MASTER_KEY_FILE")


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
