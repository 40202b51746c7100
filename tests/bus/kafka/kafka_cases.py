"""What the tests of the Kafka bus share: settings, topics, a second process."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec

from contracts.bus import OTHER, TOPIC
from cs.bus.kafka.settings import KafkaSettings
from cs.bus.kafka.topics import apply
from cs.bus.topics import DEAD_LETTERS, TopicPlan

MEMBER = Path(__file__).with_name("kafka_member.py")


def settings_for(bootstrap: str, prefix: str = "") -> KafkaSettings:
    return KafkaSettings(
        bootstrap_servers=tuple(bootstrap.split(",")), prefix=prefix, session_timeout_s=6.0
    )


async def make_topics(settings: KafkaSettings, *, partitions: int) -> None:
    plans = [TopicPlan(name) for name in (TOPIC, OTHER, DEAD_LETTERS)]
    await apply(settings, plans, partitions=partitions, replication=1)


@asynccontextmanager
async def member_process(
    settings: KafkaSettings, group: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process that joins *group*, prints the values it gets and commits none."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        MEMBER,
        msgspec.json.encode(settings),
        TOPIC,
        group,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
