"""Clients of a broker, topics and a second process, for the tests of the Kafka bus."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from contracts.bus import OTHER, TOPIC
from cs.assembly.shared_settings import kafka_settings
from cs.bus.kafka.availability import check_available
from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.settings import KafkaSettings, client_options
from cs.bus.kafka.subscription import lag
from cs.bus.kafka.topics import apply, describe
from cs.bus.topics import DEAD_LETTERS, TopicPlan
from cs.settings import load


@dataclass(frozen=True)
class Client:
    """A client of brokers, with settings of its own."""

    settings: KafkaSettings

    def changed(self, **settings: Any) -> "Client":
        return Client(replace(self.settings, **settings))

    def bus(self) -> KafkaBus:
        """Return a bus, to be opened with ``async with``."""
        return KafkaBus(self.settings)

    @property
    def options(self) -> dict[str, Any]:
        """Options for aiokafka's own clients."""
        return client_options(self.settings)

    async def check(self) -> None:
        """Look whether the brokers answer this client."""
        await check_available(self.settings)

    async def make_topics(self, *names: str, partitions: int = 1) -> None:
        """Make the topics of the contract, or those called *names*."""
        plans = [TopicPlan(name) for name in names or (TOPIC, OTHER, DEAD_LETTERS)]
        await apply(self.settings, plans, partitions=partitions, replication=1)

    async def topics_there(self, *names: str) -> int:
        """Return how many of the topics *names* there are."""
        return len(await describe(self.settings, [TopicPlan(name) for name in names]))

    async def lag(self, topic: str, group: str) -> Mapping[int, int]:
        return await lag(self.settings, topic, group)


def client_of(bootstrap: str, prefix: str = "", **settings: Any) -> Client:
    """Return a client of the brokers *bootstrap*, whose topics begin with *prefix*."""
    servers = tuple(bootstrap.split(","))
    return Client(
        KafkaSettings(
            bootstrap_servers=servers, prefix=prefix, session_timeout_s=6.0, **settings
        )
    )


def client_set_up(environment: Mapping[str, str]) -> Client:
    """Return the client of a process with *environment*."""
    return Client(kafka_settings(load(environment=environment)))
