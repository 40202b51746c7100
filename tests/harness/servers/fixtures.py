"""Fixtures that hand real servers to tests; `tests/conftest.py` makes them known everywhere.

`CS_TEST_POSTGRES` (a DSN) and `CS_TEST_KAFKA` (bootstrap servers) name servers that run
already.  What becomes of a test whose server cannot be had: `servers.what_is_here`.  A test
that names such a fixture is `slow` by itself; whoever asks for it later has to be marked.
"""

import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.servers.databases import new_database
from harness.servers.kafka import Kafka, running_kafka
from harness.servers.own_folder import own_folder
from harness.servers.postgres import Postgres, running_postgres
from harness.servers.programs import every_binaries
from harness.servers.shared import shared

#: Fixtures that start or use a real server: what they take is not for the inner loop.
_SERVERS = {"postgres", "every_postgres", "own_postgres", "kafka", "own_kafka", "three_brokers"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _SERVERS & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """A folder that all workers of this test run share, for servers that they share."""
    if pytestconfig.option.markexpr == "not slow":
        pytest.fail("mark it `slow`: it asks for a server while it runs", pytrace=False)
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def postgres(run_folder: Path) -> Iterator[str]:
    """DSN of a PostgreSQL that the whole run shares: leave it standing and as it was."""
    given = os.environ.get("CS_TEST_POSTGRES")
    if given:
        yield given
        return
    with _postgres(run_folder, newest=True) as dsn:
        yield dsn


@pytest.fixture(scope="session", params=["oldest", "newest"])
def every_postgres(request: pytest.FixtureRequest, run_folder: Path) -> Iterator[str]:
    """DSN of a shared PostgreSQL of the oldest and of the newest major version at hand.

    The packaged ones are 16 and 18.
    """
    with _postgres(run_folder, newest=request.param == "newest") as dsn:
        yield dsn


@contextmanager
def _postgres(run_folder: Path, *, newest: bool) -> Iterator[str]:
    version = str(every_binaries()[0 if newest else -1].version)
    with shared(run_folder / f"postgres-{version}", "postgres", version) as dsn:
        yield dsn


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
def kafka(run_folder: Path) -> Iterator[str]:
    """Bootstrap servers of a Kafka that the whole run shares: leave it standing.

    Topics of a test begin with its `topic_prefix`; so do its groups.
    """
    given = os.environ.get("CS_TEST_KAFKA")
    if given:
        yield given
        return
    with shared(run_folder / "kafka", "kafka") as bootstrap:
        yield bootstrap


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
