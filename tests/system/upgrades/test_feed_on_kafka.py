"""The public feed on Kafka carries events of a newer version as they are, and goes on."""

import asyncio

import msgspec
import pytest

from bus.kafka.kafka_cases import settings_for
from contracts.bus import take
from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.topics import apply
from cs.bus.topics import EVENTS, TopicPlan, decode_event
from cs.domain.key import KeyIssued, QuotaGranted
from cs.eventlog.port import NO_STREAM, Append
from cs.pipeline.feed import feed
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from system.upgrades.newer import AT, TOPIC, write_newer

pytestmark = pytest.mark.slow


async def test_an_event_of_a_newer_version_is_published_and_so_is_what_comes_after(
    kafka: str, topic_prefix: str
) -> None:
    settings = settings_for(kafka, topic_prefix)
    await apply(settings, [TopicPlan(EVENTS)], partitions=1, replication=1)
    log, kept = MemoryEventLog(MemoryKeyStore()), list[int]()
    issued = KeyIssued(label="", quota=1, secret_hash="a", last4="", at=AT)
    await log.append([Append("key-a", NO_STREAM, [issued])])
    await write_newer(log, "key-a", 0)
    await log.append([Append("key-a", 1, [QuotaGranted(units=2, at=AT)])])

    async def keep(position: int) -> None:
        kept.append(position)

    async with (
        KafkaBus(settings) as bus,
        bus.subscribe(EVENTS, group="others") as records,
    ):
        feeding = asyncio.create_task(feed(log, bus, after=0, save_position=keep))
        async with asyncio.timeout(30):
            events = [decode_event(record.value) for record in await take(records, 3)]
        feeding.cancel()
        await asyncio.gather(feeding, return_exceptions=True)

    assert [event.topic for event in events] == ["key.issued.v1", TOPIC, "key.quota-granted.v1"]
    assert [event.version for event in events] == [0, 1, 2]
    assert msgspec.json.decode(events[1].state)["units"] == 1
    assert kept[-1] == 3
