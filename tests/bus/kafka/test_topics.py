"""`cs topics apply` on real brokers: what is missing is made, and nothing of others is lost."""

import asyncio

import pytest
from aiokafka.admin import (  # type: ignore[import-untyped,unused-ignore]
    AIOKafkaAdminClient,
    NewTopic,
)

from cli.command import Here
from harness.servers.kafka import Kafka

pytestmark = pytest.mark.slow

RANKING = "cs.ranking.v1"
#: How a topic that carries people in clear is set up, on one broker.
PLAN = {
    "cleanup.policy": "delete",
    "retention.ms": "3600000",
    "segment.ms": "600000",
    "min.insync.replicas": "1",
}


class Topics:
    """The command on one cluster."""

    def __init__(self, here: Here, bootstrap: str, prefix: str = "") -> None:
        self.where = (f"--bootstrap={bootstrap}", f"--prefix={prefix}")
        self.here, self.bootstrap, self.ranking = here, bootstrap, prefix + RANKING

    def apply(self, *options: str) -> dict[str, object]:
        """Apply; return the row about the topic of ranking."""
        return self.row(self.here("topics", "apply", "--json", *options, *self.where).rows)

    def shown(self) -> dict[str, object]:
        return self.row(self.here("topics", "show", "--json", *self.where).rows)

    def row(self, rows: list[dict[str, object]]) -> dict[str, object]:
        (row,) = [row for row in rows if self.ranking in row.values()]
        return row

    async def make(self, **configs: str) -> None:
        """Make the topic of ranking by hand, with two partitions."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(self.ranking, 2, 1, topic_configs=configs)])
        finally:
            await admin.close()


@pytest.fixture
def topics(here: Here, kafka: str, topic_prefix: str) -> Topics:
    return Topics(here, kafka, topic_prefix)


def test_what_is_missing_is_made_as_planned_and_never_shrinks(topics: Topics) -> None:
    made = topics.apply("--partitions=3")
    shown = topics.shown()
    less = topics.apply("--partitions=2")

    assert made["done"] == ["created, 3 partitions, 1 replica"]
    assert (shown["partitions"], shown["replication"], shown["configs"]) == (3, 1, PLAN)
    assert less["done"] == []
    assert less["left"] == ["has 3 partitions, which cannot be taken away"]


def test_what_is_there_grows_and_keeps_what_else_was_set(topics: Topics) -> None:
    asyncio.run(topics.make(**{"max.message.bytes": "2000000"}))

    done = topics.apply("--partitions=3")["done"]

    assert isinstance(done, list)
    assert done[0] == "partitions 2 -> 3"
    assert "retention.ms (default) -> 3600000" in done
    shown = topics.shown()
    assert (shown["partitions"], shown["configs"]) == (
        3,
        {**PLAN, "max.message.bytes": "2000000"},
    )


def test_of_three_replicas_two_have_to_be_written(here: Here, three_brokers: Kafka) -> None:
    topics = Topics(here, three_brokers.bootstrap)
    asyncio.run(topics.make())

    ranking = topics.apply("--partitions=2", "--replication=3")
    one = topics.shown()
    topics.ranking = "cs.verification.v1"
    three = topics.shown()

    assert ranking["left"] == [
        "has 1 of 3 replicas: Kafka's own kafka-reassign-partitions changes that"
    ]
    for row, replication, least in ((one, 1, "1"), (three, 3, "2")):
        assert row["replication"] == replication
        configs = row["configs"]
        assert isinstance(configs, dict)
        assert configs["min.insync.replicas"] == least  # what has one stays writable
