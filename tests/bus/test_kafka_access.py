"""Users and ACLs on a real broker with an authoriser: each role does its work, and no more."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Int8, Int16, Int32, Schema, String

from bus.kafka_cases import settings_for
from contracts.bus import take
from cs.bus.access import access_of_roles
from cs.bus.kafka import KafkaBus
from cs.bus.kafka_lag import lag
from cs.bus.kafka_settings import KafkaSettings, connection
from cs.bus.kafka_topics import CannotApply, apply, shown
from cs.bus.topics import DEAD_LETTERS, EVENTS, OUTCOMES, STAGE_TOPICS, TOPICS, TopicPlan
from cs.pipeline.outcomes import GROUP
from servers.kafka import Kafka, running_kafka
from servers.kafka_listeners import Listener, sasl
from servers.own_folder import own_folder

pytestmark = pytest.mark.slow

PREFIX = "team."
ROLES = access_of_roles(PREFIX)
USERS = {f"cs-{role}": f"password-of-{role}" for role in ROLES} | {"cs-nobody": "password-none"}
NAMES = [plan.name for plan in TOPICS]
STAGES = {f"stage-{name}": (name, topic) for name, topic in STAGE_TOPICS.items()}


class CreateAclsResponse(Response):  # type: ignore[misc]
    API_KEY = 30
    API_VERSION = 1
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("results", Array(("error_code", Int16), ("error_message", String("utf-8")))),
    )


class CreateAclsV1(RequestStruct):  # type: ignore[misc]
    """Kafka's protocol guide, "CreateAcls Request (Version: 1)"; aiokafka has none."""

    API_KEY = 30
    API_VERSION = 1
    RESPONSE_TYPE = CreateAclsResponse
    SCHEMA = Schema(
        (
            "creations",
            Array(
                ("resource_type", Int8),
                ("resource_name", String("utf-8")),
                ("resource_pattern_type", Int8),
                ("principal", String("utf-8")),
                ("host", String("utf-8")),
                ("operation", Int8),
                ("permission_type", Int8),
            ),
        )
    )


RESOURCES = {"topic": 2, "group": 3}
OPERATIONS = {
    "Read": 3,
    "Write": 4,
    "Create": 5,
    "Alter": 7,
    "Describe": 8,
    "DescribeConfigs": 10,
    "AlterConfigs": 11,
}
LITERAL, ALLOW = 3, 3


class CreateAcls(Request[CreateAclsV1]):  # type: ignore[misc]
    API_KEY = 30

    def __init__(self, creations: Sequence[tuple[int, str, int, str, str, int, int]]) -> None:
        self._creations = creations

    def build(self, request_struct_class: type[CreateAclsV1]) -> CreateAclsV1:
        return request_struct_class(self._creations)


async def allow(bootstrap: str) -> None:
    """Give every user what its role needs, as the broker's superuser."""
    creations = [
        (
            *(RESOURCES[each.resource], each.name, LITERAL, f"User:cs-{role}", "*"),
            *(OPERATIONS[operation], ALLOW),
        )
        for role, accesses in ROLES.items()
        for each in accesses
        for operation in each.operations
    ]
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        answer = await admin._send_request(CreateAcls(creations))
    finally:
        await admin.close()
    assert [code for code, _ in answer.results] == [0] * len(creations)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Kafka]:
    """A broker that knows users on one port, and trusts who comes to the other."""
    listener = Listener("USERS", "SASL_PLAINTEXT", sasl(["SCRAM-SHA-512"], USERS))
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    with own_folder() as folder:
        running = running_kafka(
            folder / "kafka", settings=settings, listeners=[listener], users=USERS
        )
        with running as kafka:
            asyncio.run(allow(kafka.bootstrap))
            topics = of(kafka, "topics")
            applied = asyncio.run(apply(topics, TOPICS, partitions=1, replication=1))
            assert all(each.done for each in applied)
            yield kafka


def of(kafka: Kafka, role: str) -> KafkaSettings:
    """Return the settings of *role*, with its user."""
    return KafkaSettings(
        bootstrap_servers=(kafka.bootstrap_of("USERS"),),
        prefix=PREFIX,
        sasl_mechanism="SCRAM-SHA-512",
        username=f"cs-{role}",
        password=USERS[f"cs-{role}"],
        session_timeout_s=6.0,
    )


def topics_of(role: str, operation: str) -> set[str]:
    return {
        each.name.removeprefix(PREFIX)
        for each in ROLES.get(role, ())
        if each.resource == "topic" and operation in each.operations
    }


def groups_of(role: str) -> set[str]:
    return {
        each.name.removeprefix(PREFIX)
        for each in ROLES.get(role, ())
        if each.resource == "group"
    }


async def test_the_user_of_the_topics_finds_nothing_left_to_do(guarded: Kafka) -> None:
    settings = of(guarded, "topics")

    again = await apply(settings, TOPICS, partitions=1, replication=1)
    states = await shown(settings, TOPICS)

    assert [each.done for each in again] == [()] * len(TOPICS)
    assert len(states) == len(TOPICS)
    with pytest.raises(CannotApply):
        await apply(settings, [TopicPlan("somebody-elses")], partitions=1, replication=1)


async def test_the_relay_issues_work_and_feeds_events(guarded: Kafka) -> None:
    async with KafkaBus(of(guarded, "relay")) as bus:
        for topic in (*STAGE_TOPICS.values(), EVENTS):
            await bus.publish(topic, key=b"k", value=b"{}")

        assert (await bus.measured()).reachable


@pytest.mark.parametrize("role", STAGES)
async def test_a_stage_takes_its_work_answers_and_puts_bad_records_aside(
    guarded: Kafka, role: str
) -> None:
    name, topic = STAGES[role]
    async with KafkaBus(settings_for(guarded.bootstrap, PREFIX)) as issuing:
        await issuing.publish(topic, key=b"k", value=b"{}")

    settings = of(guarded, role)
    async with KafkaBus(settings) as bus, bus.subscribe(topic, group=name) as records:
        (record,) = await take(records, 1)
        await bus.publish(OUTCOMES, key=b"k", value=b"{}")
        await bus.publish(DEAD_LETTERS, key=b"k", value=b"{}")
        assert (await bus.measured()).reachable
        await records.commit(record)
    assert topic in topics_of(role, "Read")


async def test_a_process_manager_takes_outcomes_and_knows_how_many_are_left(
    guarded: Kafka,
) -> None:
    settings = of(guarded, "process-manager")
    async with KafkaBus(settings) as bus:
        async with KafkaBus(settings_for(guarded.bootstrap, PREFIX)) as stage:
            await stage.publish(OUTCOMES, key=b"k", value=b"{}")
        async with bus.subscribe(OUTCOMES, group=GROUP) as records:
            (record,) = await take(records, 1)
            await records.commit(record)
        await bus.publish(DEAD_LETTERS, key=b"k", value=b"{}")

        assert (await bus.measured()).reachable
    assert set(await lag(settings, OUTCOMES, GROUP)) == {0}


@asynccontextmanager
async def producer_of(kafka: Kafka, role: str) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(**connection(of(kafka, role)))
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


@asynccontextmanager
async def consumer_of(
    kafka: Kafka, role: str, group: str | None
) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(
        **connection(of(kafka, role)), group_id=group, enable_auto_commit=False
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


@pytest.mark.parametrize("role", [*ROLES, "nobody"])
async def test_nobody_writes_what_it_need_not(guarded: Kafka, role: str) -> None:
    refused = set()
    async with producer_of(guarded, role) as producer:
        for topic in NAMES:
            if topic in topics_of(role, "Write"):
                await producer.send_and_wait(PREFIX + topic, b"{}", key=b"k")
                continue
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send_and_wait(PREFIX + topic, b"{}", key=b"k", partition=0)
            refused.add(topic)

    assert refused == set(NAMES) - topics_of(role, "Write")
    if role in STAGES:
        assert refused == {*STAGE_TOPICS.values(), EVENTS}


async def read(consumer: AIOKafkaConsumer, at: TopicPartition) -> None:
    await consumer._client._wait_on_metadata(at.topic)  # else it asks for it without end
    consumer.assign([at])
    consumer.seek(at, 0)
    await consumer.getone()


@pytest.mark.parametrize("role", [*ROLES, "nobody"])
async def test_nobody_reads_what_it_need_not(guarded: Kafka, role: str) -> None:
    async with KafkaBus(settings_for(guarded.bootstrap, PREFIX)) as everybody:
        for topic in NAMES:
            await everybody.publish(topic, key=b"k", value=b"{}")
    refused = set()
    for topic in NAMES:
        at = TopicPartition(PREFIX + topic, 0)
        async with asyncio.timeout(20), consumer_of(guarded, role, None) as consumer:
            try:
                await read(consumer, at)
            except TopicAuthorizationFailedError:
                refused.add(topic)

    assert refused == set(NAMES) - topics_of(role, "Read")


@pytest.mark.parametrize("role", [*ROLES, "nobody"])
async def test_nobody_is_a_member_of_anothers_group(guarded: Kafka, role: str) -> None:
    others = {GROUP, *STAGE_TOPICS} - groups_of(role)
    for group in others:
        async with consumer_of(guarded, role, PREFIX + group) as consumer:
            with pytest.raises(GroupAuthorizationFailedError):
                await consumer.committed(TopicPartition(PREFIX + OUTCOMES, 0))

    assert len(others) == 5 - len(groups_of(role))
