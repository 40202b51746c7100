"""Every service of ours in compose.yaml, on real PostgreSQL and Kafka, without containers.

The ports of the brokers let in who has a user, each where it belongs.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from deploy.compose_files import ONCE, ROLES, project
from deploy.databases import Databases
from deploy.running_kafka import Brokers
from deploy.running_roles import Container
from harness.servers.ports import free_ports

SERVICES = project()["services"]
#: Ready once there are views, which `project` makes.
FOLLOW_THE_VIEWS = ("api", "process-manager")
pytestmark = pytest.mark.slow

Containers = Callable[[str], Container]


@pytest.fixture(scope="module")
def containers(
    databases: Databases, brokers: Brokers, tmp_path_factory: pytest.TempPathFactory
) -> Containers:
    """Make containers of services by name; what runs once has run."""
    folder = tmp_path_factory.mktemp("containers")
    here = {
        f"@{name}:5432": f"@127.0.0.1:{each.port}" for name, each in databases.servers.items()
    }
    here |= brokers.here

    def made(name: str) -> Container:
        return Container(SERVICES[name], here, free_ports(1)[0], folder / name)

    for name in ONCE:
        made(name).run()
    return made


@pytest.mark.parametrize("name", ROLES)
def test_a_role_becomes_healthy_and_ends_on_a_signal(containers: Containers, name: str) -> None:
    container = containers(name)

    with ExitStack() as stack:
        if name in FOLLOW_THE_VIEWS:
            stack.enter_context(containers("project").running())
        process = stack.enter_context(container.running())
        assert container.becomes_healthy(process), container.output
        assert container.stop(process) == 0, container.output


async def knock(**connection: Any) -> None:
    producer = AIOKafkaProducer(**connection)
    try:
        await producer.start()
    finally:
        await producer.stop()


@pytest.mark.parametrize("port", ["9092", "9093", "9094"])
async def test_every_port_of_a_broker_refuses_a_client_without_a_user(
    brokers: Brokers, port: str
) -> None:
    with pytest.raises(KafkaError):
        await knock(bootstrap_servers=brokers.address(port=port))


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "PLAIN"])
@pytest.mark.parametrize("port", ["9093", "9094"])
async def test_the_ports_between_brokers_refuse_the_user_of_a_role(
    brokers: Brokers, port: str, mechanism: str
) -> None:
    given = SERVICES["ranking"]["environment"]
    for there, here in brokers.here.items():
        given = {name: value.replace(there, here) for name, value in given.items()}
    password = Path(given["CS_KAFKA_PASSWORD_FILE"])
    known = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_plain_username": given["CS_KAFKA_USERNAME"],
        "sasl_plain_password": password.read_text(),  # noqa: ASYNC240
    }
    own = brokers.address(port="9092")
    await knock(bootstrap_servers=own, sasl_mechanism="SCRAM-SHA-512", **known)
    at = brokers.address(port=port)
    with pytest.raises(KafkaError):
        await knock(bootstrap_servers=at, sasl_mechanism=mechanism, **known)
