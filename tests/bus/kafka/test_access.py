"""Users and ACLs on a real broker with an authoriser: each role does its work, and no more."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError

from bus.kafka.kafka_cases import client_of
from cs.bus.dead_letters import GROUP as DEAD_LETTERS_GROUP
from cs.bus.dead_letters import DeadLetter, DeadLetterBox
from cs.bus.kafka.access import access_of_roles, grant
from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.settings import CannotApply, KafkaSettings, client_options
from cs.bus.kafka.topics import apply, describe
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, STAGE_TOPICS, TOPICS, TopicPlan
from cs.pipeline.outcomes import GROUP
from cs.runtime.coordination import in_background
from harness.servers.kafka import Kafka, running_kafka
from harness.servers.kafka_listeners import Listener, sasl
from harness.servers.own_folder import own_folder

pytestmark = pytest.mark.slow

PREFIX = "team."
ROLES = access_of_roles(PREFIX)
USERS = {f"cs-{role}": f"password-of-{role}" for role in ROLES} | {"cs-nobody": "password-none"}
GRANTED = {f"cs-{role}": accesses for role, accesses in ROLES.items()}
NAMES = [plan.name for plan in TOPICS]
STAGES = {f"stage-{name}": topic for name, topic in STAGE_TOPICS.items()}
#: What each group reads.
GROUPS = {GROUP: OUTCOMES, DEAD_LETTERS_GROUP: DEAD_LETTERS, **STAGE_TOPICS}


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
            everybody = client_of(kafka.bootstrap, PREFIX).settings
            asyncio.run(grant(everybody, GRANTED))
            topics = of(kafka, "topics")
            applied = asyncio.run(apply(topics, TOPICS, partitions=1, replication=1))
            assert all(each.done for each in applied)
            asyncio.run(publish_everywhere(everybody))
            yield kafka


async def publish_everywhere(everybody: KafkaSettings) -> None:
    async with KafkaBus(everybody) as bus:
        for topic in NAMES:
            await bus.publish(topic, key=b"k", value=b"{}")


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
    states = await describe(settings, TOPICS)

    assert [each.done for each in again] == [()] * len(TOPICS)
    assert len(states) == len(TOPICS)
    with pytest.raises(CannotApply):
        await apply(settings, [TopicPlan("somebody-elses")], partitions=1, replication=1)


async def test_rights_are_granted_again_without_harm_and_only_by_a_user_that_may(
    guarded: Kafka,
) -> None:
    await grant(client_of(guarded.bootstrap, PREFIX).settings, GRANTED)

    for role in ROLES:
        with pytest.raises(CannotApply, match="may not give rights: it needs Alter on the"):
            await grant(of(guarded, role), {"cs-nobody": ROLES["relay"]})


async def found(box: DeadLetterBox, key: bytes) -> DeadLetter | None:
    letters = await box.newest()
    return next((each for each in letters if each.record.key == key), None)


async def arrived(box: DeadLetterBox, key: bytes) -> DeadLetter:
    while (letter := await found(box, key)) is None:
        pass
    return letter


async def test_a_console_keeps_dead_letters_over_a_restart_until_they_are_handled(
    guarded: Kafka,
) -> None:
    at = {"topic": OUTCOMES, "partition": "0", "offset": "7", "error": "ForgedOutcome"}
    settings, kept = of(guarded, "console"), 0
    handled, published = dict[str, datetime](), set[datetime]()

    async def handled_in_log() -> Mapping[str, datetime]:
        await asyncio.sleep(0)  # as a read of the log does, lets the consumer read on
        return handled

    async with KafkaBus(of(guarded, "process-manager")) as manager:
        for key in (b"first", b"second", b"third"):
            its = at | {"offset": "8"} if key == b"third" else at
            await manager.publish(DEAD_LETTERS, key=key, value=b"{}", headers=its)
    for _ in range(2):
        async with KafkaBus(settings) as bus, asyncio.timeout(60):
            box = DeadLetterBox(bus, lambda: datetime.now(UTC), handled_in_log)
            async with in_background(box.run(), "box"):
                second = await arrived(box, b"second")
                for other in await box.newest():
                    if other.record.key == b"k":  # of another test; it would come before them
                        await box.let_go(other)
                first = await found(box, b"first")
                if first is not None:
                    await box.send_again(first)
                    await box.let_go(first)
                    third = await arrived(box, b"third")
                    await box.let_go(third)
                    handled[third.place] = datetime.now(UTC)
                assert await found(box, b"third") is None
                assert second.place == f"{OUTCOMES} 0/7"
                published.add(second.published_at)
                kept += first is not None

    assert len(published) == 1, "it gets no older by a restart, nor younger"
    assert kept == 1, "what was sent again is not shown after a restart"


@asynccontextmanager
async def producer_of(kafka: Kafka, role: str) -> AsyncIterator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(**client_options(of(kafka, role)))
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
        **client_options(of(kafka, role)), group_id=group, enable_auto_commit=False
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def read(consumer: AIOKafkaConsumer, at: TopicPartition) -> None:
    await consumer._client._wait_on_metadata(at.topic)  # else it asks for it without end
    consumer.assign([at])
    consumer.seek(at, 0)
    await consumer.getone()


@pytest.mark.parametrize("role", [*ROLES, "nobody"])
async def test_a_user_writes_reads_and_joins_what_its_role_needs_and_nothing_else(
    guarded: Kafka, role: str
) -> None:
    async with producer_of(guarded, role) as producer:
        for topic in NAMES:
            if topic in topics_of(role, "Write"):
                await producer.send_and_wait(PREFIX + topic, b"{}", key=b"k")
                continue
            with pytest.raises(TopicAuthorizationFailedError):
                await producer.send_and_wait(PREFIX + topic, b"{}", key=b"k", partition=0)
    seen, joined = set(), set()
    for topic in NAMES:
        async with asyncio.timeout(20), consumer_of(guarded, role, None) as consumer:
            with suppress(TopicAuthorizationFailedError):
                await read(consumer, TopicPartition(PREFIX + topic, 0))
                seen.add(topic)
    for group, topic in GROUPS.items():
        async with consumer_of(guarded, role, PREFIX + group) as consumer:
            with suppress(GroupAuthorizationFailedError):
                await consumer.committed(TopicPartition(PREFIX + topic, 0))
                joined.add(group)

    assert seen == topics_of(role, "Read")
    assert joined == groups_of(role)
    if role in STAGES:
        assert seen == {STAGES[role]}
        assert topics_of(role, "Write") == {OUTCOMES, DEAD_LETTERS}
