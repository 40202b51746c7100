"""What every bus does, whatever carries it."""

import asyncio

from cs.bus.port import Bus, Record, Subscription

TOPIC = "cs.test.v1"


async def take(records: Subscription, count: int) -> list[Record]:
    """Return the next *count* records, uncommitted."""
    taken: list[Record] = []
    async with asyncio.timeout(10):
        async for record in records:
            taken.append(record)
            if len(taken) == count:
                break
    return taken


async def publish(bus: Bus, *values: bytes, key: bytes = b"k", topic: str = TOPIC) -> None:
    for value in values:
        await bus.publish(topic, key=key, value=value)


def values(records: list[Record]) -> list[bytes]:
    return [record.value for record in records]


class BusContract:
    """Inherit, and give a fixture ``bus`` on which groups "a" and "b" know `TOPIC`."""

    async def test_a_record_arrives_as_it_was_published(self, bus: Bus) -> None:
        await bus.publish(TOPIC, key=b"k\xff", value=b"\x00{}", headers={"attempt": "2"})

        async with bus.subscribe(TOPIC, group="a") as records:
            (record,) = await take(records, 1)

        assert (record.topic, record.key, record.value) == (TOPIC, b"k\xff", b"\x00{}")
        assert dict(record.headers) == {"attempt": "2"}

    async def test_records_of_one_key_come_in_order(self, bus: Bus) -> None:
        sent = [b"%d" % n for n in range(100)]
        await publish(bus, *sent)

        async with bus.subscribe(TOPIC, group="a") as records:
            taken = await take(records, 100)

        assert values(taken) == sent
        assert [r.offset for r in taken] == sorted({r.offset for r in taken})

    async def test_every_group_gets_every_record_of_its_topic(self, bus: Bus) -> None:
        await publish(bus, b"1", b"2")
        await publish(bus, b"other", topic="cs.other.v1")

        for group in ("a", "b"):
            async with bus.subscribe(TOPIC, group=group) as records:
                assert values(await take(records, 2)) == [b"1", b"2"]

    async def test_a_subscriber_waits_for_what_is_not_there_yet(self, bus: Bus) -> None:
        async with bus.subscribe(TOPIC, group="a") as records:
            waiting = asyncio.create_task(take(records, 1))
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
            assert not waiting.done()

            await publish(bus, b"1")

            assert values(await waiting) == [b"1"]

    async def test_what_was_not_committed_comes_again_and_the_rest_does_not(
        self, bus: Bus
    ) -> None:
        await publish(bus, b"1", b"2", b"3", b"4")
        async with bus.subscribe(TOPIC, group="a") as records:
            first, _second, third = await take(records, 3)
            await records.commit(third)
            await records.commit(first)

        async with bus.subscribe(TOPIC, group="a") as records:
            again = await take(records, 2)

        assert values(again)[0] == b"2"  # the lowest one missing; those after it may come too
        assert b"1" not in values(again)

    async def test_committing_twice_is_quiet(self, bus: Bus) -> None:
        await publish(bus, b"1", b"2")
        async with bus.subscribe(TOPIC, group="a") as records:
            (first,) = await take(records, 1)
            await records.commit(first)
            await records.commit(first)

        async with bus.subscribe(TOPIC, group="a") as records:
            assert values(await take(records, 1)) == [b"2"]
