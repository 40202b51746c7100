"""The Kafka bus while brokers and clients fail, on brokers of the tests' own."""

import asyncio
from typing import Any

import pytest
from aiokafka.consumer.fetcher import Fetcher  # type: ignore[import-untyped,unused-ignore]

from bus.kafka.kafka_cases import Client, client_of
from contracts.bus import TOPIC, publish, take, values
from cs.bus.port import Bus, BusStuck, BusUnavailable, Subscription
from harness.servers.kafka import Kafka
from harness.servers.ports import free_ports

pytestmark = pytest.mark.slow


async def publish_with_retries(bus: Bus, value: bytes) -> None:
    """Publish *value*, again and again while Kafka is away."""
    while True:
        try:
            await bus.publish(TOPIC, key=value, value=value)
        except BusUnavailable:
            continue
        else:
            return


async def all_of(records: Subscription, sent: set[bytes]) -> None:
    """Return when everything *sent* has come."""
    missing = set(sent)
    async for record in records:
        missing.discard(record.value)
        await records.commit(record)
        if not missing:
            return


async def test_nothing_is_lost_when_a_killed_broker_starts_again(own_kafka: Kafka) -> None:
    client = client_of(own_kafka.bootstrap, publish_timeout_s=2.0)
    await client.make_topics(partitions=3)
    sent = {b"%d" % n for n in range(300)}
    half = asyncio.Event()

    async def send(bus: Bus) -> None:
        for n, value in enumerate(sorted(sent)):
            await publish_with_retries(bus, value)
            if n == 100:
                half.set()

    async with (
        client.bus() as bus,
        bus.subscribe(TOPIC, group="a") as records,
        asyncio.timeout(90),
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(all_of(records, sent))
        tasks.create_task(send(bus))
        await half.wait()
        await asyncio.to_thread(own_kafka.kill)
        await asyncio.to_thread(own_kafka.start)


async def test_leaving_while_kafka_is_away_takes_no_time() -> None:
    (port,) = free_ports(1)
    async with client_of(f"127.0.0.1:{port}").bus() as bus:

        async def read() -> None:
            async with bus.subscribe(TOPIC, group="a", drain_s=60):
                pass

        reading = asyncio.create_task(read())
        while not (await bus.measure()).subscriptions:
            pass
        reading.cancel()
        async with asyncio.timeout(1):
            with pytest.raises(asyncio.CancelledError):
                await reading


async def test_a_broker_that_hangs_is_reported_in_time(own_kafka: Kafka) -> None:
    client = client_of(own_kafka.bootstrap, publish_timeout_s=1.0)
    await client.make_topics()
    async with client.bus() as bus:
        await publish(bus, b"1")
        own_kafka.suspend()
        try:
            async with asyncio.timeout(5):
                with pytest.raises(BusUnavailable, match="in time"):
                    await publish(bus, b"2")
        finally:
            own_kafka.resume()

        await publish_with_retries(bus, b"3")

        async with bus.subscribe(TOPIC, group="a") as records:
            assert values(await take(records, 3))[-1] == b"3"  # the second may have come


@pytest.fixture
async def watched(kafka: str, topic_prefix: str) -> Client:
    client = client_of(kafka, topic_prefix, stuck_after_s=1.0)
    await client.make_topics()
    return client


async def hang(records: Any) -> None:
    """End what fetches in the client, as if it hung; nothing else there notices."""
    while records.rebalancing:
        await asyncio.to_thread(int)
    records._consumer._fetcher._fetch_task.cancel()


async def fetch_nothing(_fetcher: Fetcher) -> None:
    """Hang where the client fetches, without end."""
    await asyncio.Event().wait()


async def test_a_consumer_that_hangs_is_built_again(watched: Client) -> None:
    async with watched.bus() as bus, bus.subscribe(TOPIC, group="a") as records:
        await publish(bus, b"1")
        (first,) = await take(records, 1)
        await records.commit(first)
        await hang(records)
        await publish(bus, b"2")

        again = await take(records, 1)

        assert values(again) == [b"2"]
        assert (await bus.measure()).subscriptions[0].rebuilt == 1


async def test_a_consumer_that_hangs_again_at_once_ends_the_process(
    watched: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fetcher, "_fetch_requests_routine", fetch_nothing)

    async def read() -> None:
        async with watched.bus() as bus, bus.subscribe(TOPIC, group="a") as records:
            await publish(bus, b"1")
            await take(records, 1)

    with pytest.raises(BusStuck, match=f"records of {TOPIC} wait"):
        await read()


async def test_a_quiet_topic_is_no_hang(watched: Client) -> None:
    async with (
        watched.changed(stuck_after_s=0.1).bus() as bus,
        bus.subscribe(TOPIC, group="a") as records,
    ):
        moved_at = records._progress_at
        while records._progress_at < moved_at + 0.5:  # the watch looked, and saw nothing wait
            await asyncio.to_thread(int)
        await publish(bus, b"1")

        assert values(await take(records, 1)) == [b"1"]
        assert (await bus.measure()).subscriptions[0].rebuilt == 0
