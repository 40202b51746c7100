import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import msgspec
import pytest

from bus.kafka.kafka_cases import Client, client_of
from contracts.bus import TOPIC, BusContract, publish, take, values
from cs.bus.dead_letters import DeadLetterBox, publish_dead_letter
from cs.bus.port import Bus, BusUnavailable, Record
from cs.runtime.coordination import in_background
from harness.servers.ports import free_ports

pytestmark = pytest.mark.slow


@pytest.fixture
async def client(kafka: str, topic_prefix: str) -> Client:
    client = client_of(kafka, topic_prefix)
    await client.make_topics(partitions=12)
    return client


@pytest.fixture
async def bus(client: Client) -> AsyncIterator[Bus]:
    async with client.bus() as bus:
        yield bus


class TestKafkaBus(BusContract):
    pass


async def test_a_partition_pauses_at_64_in_flight_and_goes_on_at_48(bus: Any) -> None:
    sent = [b"%d" % n for n in range(200)]
    await publish(bus, *sent)

    async with bus.subscribe(TOPIC, group="a") as records:
        first = await take(records, 64)
        full = (await bus.measure()).subscriptions[0]
        waiting = asyncio.create_task(take(records, 136))
        for record in first[:15]:
            await records.commit(record)
        still = (await bus.measure()).subscriptions[0]
        for record in first[15:]:
            await records.commit(record)
        rest: list[Record] = []
        # More than 64 cannot come without commits.
        waiting.cancel()
        while len(rest) < 136:
            rest += (more := await take(records, min(64, 136 - len(rest))))
            for record in more:
                await records.commit(record)

    assert (full.in_flight, full.in_hand, full.paused, full.lag) == (64, 64, 1, 200)
    assert (still.in_flight, still.paused) == (49, 1)
    assert values(rest) == sent[64:]


async def test_measures_tell_what_is_behind(bus: Any) -> None:
    await publish(bus, b"1", b"2", b"3")
    async with bus.subscribe(TOPIC, group="a") as records:
        first, *_ = await take(records, 3)
        await records.commit(first)
        while (measures := (await bus.measure()).subscriptions[0]).lag == 3:
            pass

    assert (measures.topic, measures.group, measures.partitions) == (TOPIC, "a", 12)
    assert (measures.lag, measures.in_flight, measures.in_hand) == (2, 2, 2)
    left = await bus.measure()
    assert (left.reachable, left.subscriptions) == (True, ())


#: A member of a group that prints the values it gets and commits none.
MEMBER = """
import asyncio, sys
import msgspec, structlog
from cs.bus.kafka.bus import KafkaBus
from cs.bus.kafka.settings import KafkaSettings
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
async def main(settings, topic, group):
    async with KafkaBus(settings) as bus, bus.subscribe(topic, group=group) as records:
        async for record in records:
            print(record.value.decode(), flush=True)
asyncio.run(main(msgspec.json.decode(sys.argv[1], type=KafkaSettings), *sys.argv[2:]))
"""


async def test_records_in_flight_in_a_killed_process_come_to_another_member(
    bus: Any, client: Client
) -> None:
    sent = [b"%d" % n for n in range(20)]
    await publish(bus, *sent)
    settings = msgspec.json.encode(client.settings)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MEMBER, settings, TOPIC, "a"), stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        seen = [(await process.stdout.readline()).strip() for _ in sent]
    finally:
        process.kill()
        await process.communicate()

    async with bus.subscribe(TOPIC, group="a") as records:
        again = await take(records, 20)

    assert seen == values(again) == sent


async def test_work_of_a_partition_taken_away_may_end_late(
    bus: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.bus.kafka.subscription.REVOKE_S", 0.05)
    await publish(bus, b"1")
    async with bus.subscribe(TOPIC, group="a") as one:
        (held,) = await take(one, 1)
        async with bus.subscribe(TOPIC, group="a") as two:
            takes = [asyncio.create_task(take(each, 1)) for each in (one, two)]
            done, others = await asyncio.wait(takes, return_when=asyncio.FIRST_COMPLETED)
            await one.commit(held)
            for each in others:
                each.cancel()

    assert [values(each.result()) for each in done] == [[b"1"]]


async def test_records_in_flight_are_waited_for_when_a_member_joins(bus: Any) -> None:
    await publish(bus, b"1", b"2")
    async with bus.subscribe(TOPIC, group="a") as one:
        first, second = await take(one, 2)

        async def end() -> None:
            while not one.rebalancing:
                await asyncio.to_thread(int)
            await one.commit(first)
            await one.commit(second)

        ending = asyncio.create_task(end())
        async with bus.subscribe(TOPIC, group="a") as two:
            await ending
            await publish(bus, b"3")
            takes = [asyncio.create_task(take(each, 1)) for each in (one, two)]
            done, others = await asyncio.wait(takes, return_when=asyncio.FIRST_COMPLETED)
            for each in others:
                each.cancel()

    assert [values(each.result()) for each in done] == [[b"3"]]


async def test_a_dead_letter_is_kept_by_the_member_alone_that_has_its_partition(
    client: Client,
) -> None:
    async def handled() -> Mapping[str, datetime]:
        await asyncio.sleep(0)  # as a read of the log does, lets the others run
        return {}

    async def ids(box: DeadLetterBox) -> set[str]:
        return {each.id for each in await box.newest()}

    async with client.bus() as one, client.bus() as two, asyncio.timeout(60):
        first, second = (
            DeadLetterBox(bus, lambda: datetime.now(UTC), handled) for bus in (one, two)
        )
        for n in range(30):
            record = Record(TOPIC, 0, n, key=b"%d" % n, value=b"")
            await publish_dead_letter(one, record, ValueError("no outcome"))
        async with in_background(first.run(), "first"):
            while len(every := await ids(first)) < 30:
                pass
            async with in_background(second.run(), "second"):
                shared: list[set[str]] = [set()]
                while not (all(shared) and sorted(every) == sorted([*chain(*shared)])):
                    shared = [await ids(first), await ids(second)]


async def test_a_broker_that_is_not_there_is_reported_in_time() -> None:
    (port,) = free_ports(1)
    away = client_of(f"127.0.0.1:{port}", publish_timeout_s=1.0)

    async with away.bus() as bus, asyncio.timeout(5):
        with pytest.raises(BusUnavailable, match=TOPIC):
            await publish(bus, b"1")
        measured = await bus.measure()

    assert measured.reachable is False
    assert measured.why == (
        f"Kafka at 127.0.0.1:{port} does not answer, Connection refused: "
        "start it, or correct kafka"
    )


async def test_a_missing_topic_is_waited_for_and_reported_with_the_command_that_makes_it(
    bus: Any, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.bus.kafka.subscription.TOPIC_S", 0.1)
    late = "cs.late.v1"

    async def read() -> list[Record]:
        async with bus.subscribe(late, group="a") as records:
            return await take(records, 1)

    reading = asyncio.create_task(read())
    while (measured := await bus.measure()).reachable or "no topic" not in f"{measured.why}":
        assert not reading.done()
    await client.make_topics(late)
    await publish(bus, b"1", topic=late)

    assert values(await reading) == [b"1"]
    missing = client.settings.on_broker(late)
    assert f"{measured.why}".startswith(f"there is no topic '{missing}'")
    assert "`cs topics apply` makes what is missing" in f"{measured.why}"


async def test_a_producer_whose_numbers_are_refused_is_replaced(bus: Any) -> None:
    await publish(bus, b"1")
    producer = bus._publisher._producer
    assert producer is not None
    for partition in producer._txn_manager._sequence_numbers:
        producer._txn_manager._sequence_numbers[partition] += 5

    await publish(bus, b"2")

    assert bus._publisher._producer is not producer
    async with bus.subscribe(TOPIC, group="a") as records:
        assert values(await take(records, 2)) == [b"1", b"2"]


async def test_a_producer_that_no_longer_sends_is_replaced(client: Client) -> None:
    async with client.changed(publish_timeout_s=2.0).bus() as bus:
        await publish(bus, b"1")
        producer = bus._publisher._producer
        assert producer is not None
        producer._sender.sender_task.cancel()

        with pytest.raises(BusUnavailable):
            await publish(bus, b"lost")
        await publish(bus, b"2")

        async with bus.subscribe(TOPIC, group="a") as records:
            assert values(await take(records, 2)) == [b"1", b"2"]
