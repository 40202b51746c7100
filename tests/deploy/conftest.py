from collections.abc import Iterator

import pytest

from deploy.compose_files import project
from deploy.databases import Databases, running_databases
from deploy.running_kafka import Brokers
from harness.servers.own_folder import own_folder


@pytest.fixture(scope="module")
def databases() -> Iterator[Databases]:
    """Both servers of compose.yaml, with users and passwords, and nothing in them."""
    with running_databases() as databases:
        yield databases


@pytest.fixture(scope="module")
def brokers(databases: Databases) -> Iterator[Brokers]:
    """The broker of compose.yaml, with its users, and no topics."""
    services = project()["services"]
    with (
        own_folder() as folder,
        Brokers(services, databases.secrets, folder).running() as brokers,
    ):
        yield brokers
