"""Fixtures that hand real servers to tests; `tests/conftest.py` makes them known everywhere.

`CS_TEST_POSTGRES` (a DSN) and `CS_TEST_KAFKA` (bootstrap servers) name servers that run
already.  A test that names such a fixture is `slow` by itself; one that asks for it while it
runs has to be marked.
"""

import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from harness.servers.databases import new_database
from harness.servers.kafka import Kafka, running_kafka, start_kafka
from harness.servers.own_folder import own_folder
from harness.servers.postgres import Postgres, running_postgres, start_postgres
from harness.servers.programs import every_binaries
from harness.servers.shared import shared

#: `shared`.
Start: TypeAlias = Callable[[str, Callable[[Path], tuple[object, str]]], str]
#: Fixtures that start or use a real server: what they take is not for the inner loop.
_SERVERS = {"postgres", "every_postgres", "own_postgres", "kafka", "own_kafka", "three_brokers"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def start(pytestconfig: pytest.Config) -> Start:
    """Starts a server that the run shares, in a run that has slow tests."""
    if pytestconfig.option.markexpr == "not slow":
        pytest.fail("mark it `slow`: it asks for a server while it runs", pytrace=False)
    return shared


@pytest.fixture(scope="session")
def postgres(start: Start) -> str:
    """DSN of a PostgreSQL that the whole run shares: leave it running and unchanged."""
    return os.environ.get("CS_TEST_POSTGRES") or _postgres(start, newest=True)


@pytest.fixture(scope="session")
def oldest_postgres(start: Start) -> str:
    """DSN of a shared PostgreSQL of the oldest major version at hand."""
    return _postgres(start, newest=False)


@pytest.fixture(scope="session", params=["oldest", "newest"])
def every_postgres(request: pytest.FixtureRequest, start: Start) -> str:
    """DSN of a shared PostgreSQL of the oldest and of the newest major version at hand.

    The packaged ones are 16 and 18.
    """
    return _postgres(start, newest=request.param == "newest")


def _postgres(start: Start, *, newest: bool) -> str:
    binaries = every_binaries()[0 if newest else -1]

    def begin(folder: Path) -> tuple[Postgres, str]:
        server = start_postgres(folder, binaries=binaries)
        return server, server.dsn

    return start(f"postgres-{binaries.version}", begin)


@pytest.fixture
async def database(postgres: str) -> AsyncIterator[str]:
    """DSN of an empty database that this test has for itself."""
    async with new_database(postgres) as dsn:
        yield dsn


@pytest.fixture
async def every_database(every_postgres: str) -> AsyncIterator[str]:
    """DSN of an empty database of this test's own, once for each version of PostgreSQL."""
    async with new_database(every_postgres) as dsn:
        yield dsn


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """A durable PostgreSQL of this test's own: to be killed, suspended and restarted."""
    with (
        own_folder() as folder,
        running_postgres(folder / "postgres", durable=True) as server,
    ):
        yield server


@pytest.fixture(scope="session")
def kafka(start: Start) -> str:
    """Bootstrap servers of a Kafka that the whole run shares: leave it running.

    Topics of a test begin with its `topic_prefix`; so do its groups.
    """

    def begin(folder: Path) -> tuple[Kafka, str]:
        cluster = start_kafka(folder)
        return cluster, cluster.bootstrap

    return os.environ.get("CS_TEST_KAFKA") or start("kafka", begin)


@pytest.fixture
def topic_prefix() -> str:
    """The beginning of topic and group names that no other test has."""
    return f"t{secrets.token_hex(6)}."


@pytest.fixture
def own_kafka() -> Iterator[Kafka]:
    """A broker of this test's own: to be killed, suspended, restarted and wiped."""
    with own_folder() as folder, running_kafka(folder / "kafka") as cluster:
        yield cluster


@pytest.fixture
def three_brokers() -> Iterator[Kafka]:
    """A cluster of this test's own that keeps three copies: one broker may be lost."""
    with (
        own_folder() as folder,
        running_kafka(folder / "kafka", brokers=3) as cluster,
    ):
        yield cluster
