"""The users of compose.yaml on its own broker: its roles' processes work, and no more."""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from cs.assembly.shared_settings import kafka_settings
from cs.bus.errors import BusRefused
from cs.bus.kafka.settings import client_options
from cs.bus.kafka.topics import describe
from cs.bus.topics import DEAD_LETTERS, EVENTS, OUTCOMES, STAGE_TOPICS, TOPICS
from cs.settings import Settings, load
from deploy.compose_files import ROLES, STAGES, project
from deploy.databases import Databases
from deploy.running_kafka import Brokers
from deploy.running_roles import Container
from harness.servers.own_folder import own_folder
from harness.servers.ports import free_ports

pytestmark = pytest.mark.slow

SERVICES = project()["services"]
NAMES = {plan.name for plan in TOPICS}
WRITES = {
    "relay": {*STAGE_TOPICS.values(), EVENTS},
    "process-manager": {DEAD_LETTERS},
    **{name: {OUTCOMES, DEAD_LETTERS} for name in STAGES},
}

Given = Callable[[str], Settings]


def settings_on(brokers: Brokers, services: dict[str, dict[str, dict[str, str]]]) -> Given:
    """Make the settings that a service of the compose files has, on *brokers*."""

    def of(name: str) -> Settings:
        given = dict(services[name]["environment"])
        for there, here in brokers.here.items():
            given = {key: value.replace(there, here) for key, value in given.items()}
        return load(environment=given)

    return of


@pytest.fixture(scope="module")
def brokers(
    databases: Databases, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Brokers]:
    """The broker of compose.yaml, started again since topics were made and rights given.

    What it lets whom do here it knows from its disk.
    """
    with own_folder() as folder:
        brokers = Brokers(SERVICES, databases.secrets, folder)
        with brokers.running():
            for name in ("topics", "acls"):
                log = tmp_path_factory.mktemp(name) / "log"
                Container(SERVICES[name], brokers.here, free_ports(1)[0], log).run()
        with brokers.running():
            yield brokers


@pytest.fixture(scope="module")
def given(brokers: Brokers) -> Given:
    """The settings of services by name."""
    return settings_on(brokers, SERVICES)


async def write(settings: Settings, topic: str) -> None:
    producer = AIOKafkaProducer(**client_options(kafka_settings(settings)))
    await producer.start()
    try:
        await producer.send_and_wait(topic, b"{}", key=b"k", partition=0)
    finally:
        await producer.stop()


@pytest.mark.parametrize("name", WRITES)
async def test_a_role_writes_its_own_topics_and_no_others(given: Given, name: str) -> None:
    written = set()
    for topic in NAMES:
        try:
            await write(given(name), topic)
        except TopicAuthorizationFailedError:
            continue
        written.add(topic)

    assert written == WRITES[name]
    assert WRITES.keys() | {"api", "project"} == {*ROLES}


async def knock(**connection: Any) -> None:
    producer = AIOKafkaProducer(**connection)
    try:
        await producer.start()
    finally:
        await producer.stop()


@pytest.mark.parametrize("port", ["9092", "9093", "9094"])
async def test_no_port_lets_anybody_in_without_a_user(brokers: Brokers, port: str) -> None:
    at = brokers.address(port=port)
    with pytest.raises(KafkaError):
        await knock(bootstrap_servers=at)


@pytest.mark.parametrize("port", ["9093", "9094"])
async def test_a_role_is_nobody_to_the_ports_of_the_brokers(
    brokers: Brokers, given: Given, port: str
) -> None:
    known = client_options(kafka_settings(given("ranking")))
    at = brokers.address(port=port)
    with pytest.raises(KafkaError):
        await knock(**known | {"bootstrap_servers": at})
    plain = known | {"bootstrap_servers": at, "sasl_mechanism": "PLAIN"}
    with pytest.raises(KafkaError):
        await knock(**plain)


async def test_another_roles_password_does_not_do(given: Given) -> None:
    relay, stage = given("relay"), given("ranking")
    mixed = msgspec.structs.replace(stage, kafka_username=relay.kafka_username)

    with pytest.raises(BusRefused, match="kafka_password_file"):
        await describe(kafka_settings(mixed), TOPICS)
