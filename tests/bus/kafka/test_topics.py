import pytest
from aiokafka.admin import (  # type: ignore[import-untyped,unused-ignore]
    AIOKafkaAdminClient,
    NewTopic,
)

from bus.kafka.kafka_cases import settings_for
from cs.bus.kafka import topics
from cs.bus.kafka.settings import KafkaSettings, client_options
from cs.bus.kafka.topics import CannotApply, apply, describe
from cs.bus.topics import TopicPlan
from harness.servers.kafka import Kafka

pytestmark = pytest.mark.slow

PLANS = [TopicPlan("one.v1"), TopicPlan("two.v1")]


@pytest.fixture
def settings(kafka: str, topic_prefix: str) -> KafkaSettings:
    return settings_for(kafka, topic_prefix)


async def made_by_hand(settings: KafkaSettings, name: str, **configs: str) -> None:
    admin = AIOKafkaAdminClient(**client_options(settings))
    await admin.start()
    try:
        new = NewTopic(settings.on_broker(name), 2, 1, topic_configs=configs)
        await admin.create_topics([new])
    finally:
        await admin.close()


async def test_what_is_missing_is_made_as_planned(settings: KafkaSettings) -> None:
    applied = await apply(settings, PLANS, partitions=3, replication=1)

    assert [each.done for each in applied] == [("created, 3 partitions, 1 replica",)] * 2
    states = await describe(settings, PLANS)
    assert [state.name for state in states] == [settings.prefix + plan.name for plan in PLANS]
    assert {(state.partitions, state.replication) for state in states} == {(3, 1)}
    assert all(state.configs == PLANS[0].configs(1) for state in states)


async def test_what_is_there_grows_and_keeps_what_else_was_set(settings: KafkaSettings) -> None:
    await made_by_hand(settings, "one.v1", **{"max.message.bytes": "2000000"})

    applied, _ = await apply(settings, PLANS, partitions=3, replication=1)

    assert applied.done[0] == "partitions 2 -> 3"
    assert "retention.ms (default) -> 3600000" in applied.done
    state, _ = await describe(settings, PLANS)
    assert state.partitions == 3
    assert state.configs == {**PLANS[0].configs(1), "max.message.bytes": "2000000"}


async def test_nothing_shrinks(settings: KafkaSettings) -> None:
    await apply(settings, PLANS, partitions=3, replication=1)

    applied, _ = await apply(settings, PLANS, partitions=2, replication=1)

    assert applied.done == ()
    assert applied.left == ("has 3 partitions, which cannot be taken away",)


async def test_more_replicas_than_brokers_are_refused_before_anything_is_made(
    settings: KafkaSettings,
) -> None:
    with pytest.raises(CannotApply, match="the cluster has 1; start the others or ask for"):
        await apply(settings, PLANS, partitions=1, replication=3)

    assert await describe(settings, PLANS) == []


async def test_of_three_replicas_two_have_to_be_written(three_brokers: Kafka) -> None:
    settings = settings_for(three_brokers.bootstrap)
    await apply(settings, PLANS[:1], partitions=2, replication=1)

    one, two = await apply(settings, PLANS, partitions=2, replication=3)

    assert one.left == (
        "has 1 of 3 replicas: Kafka's own kafka-reassign-partitions changes that",
    )
    assert two.done == ("created, 2 partitions, 3 replicas",)
    first, second = await describe(settings, PLANS)
    # What has one replica stays writable.
    assert (first.replication, first.configs["min.insync.replicas"]) == (1, "1")
    assert (second.replication, second.configs["min.insync.replicas"]) == (3, "2")


class StartingCluster:
    """An admin client's view of a cluster whose last broker has just started."""

    def __init__(self, *seen: int) -> None:
        self.seen = list(seen)

    async def describe_cluster(self) -> dict[str, list[dict[str, int]]]:
        count = self.seen.pop(0) if len(self.seen) > 1 else self.seen[0]
        return {"brokers": [{"node_id": number} for number in range(count)]}


async def test_a_broker_that_has_just_started_is_waited_for() -> None:
    assert await topics._brokers(StartingCluster(2, 2, 3), 3) == [0, 1, 2]


async def test_brokers_that_do_not_come_are_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(topics, "BROKERS_S", 0.1)

    assert await topics._brokers(StartingCluster(2), 3) == [0, 1]
