"""Brokers started here take records and keep them through what a test does to them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from harness.servers.kafka import Kafka

pytestmark = pytest.mark.slow

#: For an answer, before another broker is asked; the clients' own is 40 s.
PATIENCE_MS = 5_000


@asynccontextmanager
async def administering(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=PATIENCE_MS)
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()


async def make(bootstrap: str, topic: str, copies: int = 1) -> None:
    async with administering(bootstrap) as admin:
        told = await admin.create_topics([NewTopic(topic, 1, copies)])
    assert [error for _, error, *_ in told.topic_errors] == [0]


async def topics(bootstrap: str) -> list[str]:
    async with administering(bootstrap) as admin:
        names: list[str] = await admin.list_topics()
    return names


async def put(bootstrap: str, topic: str, *values: bytes) -> None:
    async with AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        acks="all",
        enable_idempotence=True,
        request_timeout_ms=PATIENCE_MS,
    ) as producer:
        for value in values:
            await producer.send_and_wait(topic, value)


async def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    async with (
        asyncio.timeout(60),
        AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            auto_offset_reset="earliest",
            request_timeout_ms=PATIENCE_MS,
        ) as consumer,
    ):
        return [(await consumer.getone()).value for _ in range(count)]


async def test_a_record_comes_back(kafka: str, topic_prefix: str) -> None:
    topic = f"{topic_prefix}records"
    await make(kafka, topic)
    await put(kafka, topic, b"one", b"two")

    assert await read(kafka, topic, 2) == [b"one", b"two"]


async def test_a_killed_broker_keeps_its_records_and_a_wiped_one_nothing(
    own_kafka: Kafka,
) -> None:
    await make(own_kafka.bootstrap, "records")
    await put(own_kafka.bootstrap, "records", b"one")

    await asyncio.to_thread(own_kafka.kill)
    await asyncio.to_thread(own_kafka.start)
    await put(own_kafka.bootstrap, "records", b"two")

    assert await read(own_kafka.bootstrap, "records", 2) == [b"one", b"two"]
    before = await topics(own_kafka.bootstrap)

    await asyncio.to_thread(own_kafka.wipe)

    assert "records" in before
    assert await topics(own_kafka.bootstrap) == []


async def test_of_three_brokers_one_may_be_killed_and_one_may_hang(
    three_brokers: Kafka,
) -> None:
    await make(three_brokers.bootstrap, "records", copies=3)
    await put(three_brokers.bootstrap, "records", b"one")

    await asyncio.to_thread(three_brokers.kill, 2)
    await put(three_brokers.bootstrap, "records", b"two")
    await asyncio.to_thread(three_brokers.start, 2)

    assert await read(three_brokers.bootstrap, "records", 2) == [b"one", b"two"]

    three_brokers.suspend(3)
    await put(three_brokers.bootstrap, "records", b"three")
    three_brokers.resume(3)

    assert await read(three_brokers.bootstrap, "records", 3) == [b"one", b"two", b"three"]
