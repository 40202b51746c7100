"""What every bus does, whatever carries it."""

import asyncio
import json

from cs.bus.dead_letters import dead_letter
from cs.bus.port import Bus, Record, Subscription
from cs.bus.topics import DEAD_LETTERS

TOPIC = "cs.test.v1"
OTHER = "cs.other.v1"


async def take(records: Subscription, count: int) -> list[Record]:
    """Return the next *count* records, uncommitted."""
    taken: list[Record] = []
    async with asyncio.timeout(20):
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
    """Inherit, and give a fixture ``bus`` on which groups "a" and "b" know every topic here."""

    async def test_a_record_arrives_as_it_was_published(self, bus: Bus) -> None:
        await bus.publish(TOPIC, key=b"k\xff", value=b"\x00{}", headers={"attempt": "2"})

        async with bus.subscribe(TOPIC, group="a") as records:
            (record,) = await take(records, 1)

        assert (record.topic, record.key, record.value) == (TOPIC, b"k\xff", b"\x00{}")
        assert dict(record.headers) == {"attempt": "2"}

    async def test_records_of_one_key_come_in_order(self, bus: Bus) -> None:
        sent = [b"%d" % n for n in range(60)]
        await publish(bus, *sent)

        async with bus.subscribe(TOPIC, group="a") as records:
            taken = await take(records, 60)

        assert values(taken) == sent
        assert [r.offset for r in taken] == sorted({r.offset for r in taken})

    async def test_every_group_gets_every_record_of_its_topic(self, bus: Bus) -> None:
        await publish(bus, b"1", b"2")
        await publish(bus, b"other", topic=OTHER)

        for group in ("a", "b"):
            async with bus.subscribe(TOPIC, group=group) as records:
                assert values(await take(records, 2)) == [b"1", b"2"]

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

    async def test_each_record_goes_to_one_member_of_a_group(self, bus: Bus) -> None:
        sent = [b"%d" % n for n in range(60)]
        done: list[bytes] = []
        all_done = asyncio.Event()

        async def member(records: Subscription) -> None:
            async for record in records:
                done.append(record.value)
                await records.commit(record)
                if len(done) >= len(sent):
                    all_done.set()

        async with (
            bus.subscribe(TOPIC, group="a") as one,
            bus.subscribe(TOPIC, group="a") as two,
            asyncio.timeout(20),
            asyncio.TaskGroup() as tasks,
        ):
            members = [tasks.create_task(member(each)) for each in (one, two)]
            for value in sent:
                await bus.publish(TOPIC, key=value, value=value)
            await all_done.wait()
            for each in members:
                each.cancel()

        assert sorted(done) == sorted(sent)

    async def test_leaving_waits_for_work_in_hand_if_asked_to(self, bus: Bus) -> None:
        await publish(bus, b"1", b"2")
        leaving = asyncio.Event()

        async def work(records: Subscription, record: Record) -> None:
            await leaving.wait()
            await records.commit(record)

        # In this order: the tasks go on while the subscription is left.
        async with (
            asyncio.TaskGroup() as tasks,
            bus.subscribe(TOPIC, group="a", drain_s=10) as records,
        ):
            (first,) = await take(records, 1)
            tasks.create_task(work(records, first))
            asyncio.get_running_loop().call_later(0.05, leaving.set)

        async with bus.subscribe(TOPIC, group="a") as records:
            assert values(await take(records, 1)) == [b"2"]

    async def test_leaving_waits_no_longer_than_asked_to(self, bus: Bus) -> None:
        await publish(bus, b"1")

        async with asyncio.timeout(20):
            async with bus.subscribe(TOPIC, group="a", drain_s=0.05) as records:
                await take(records, 1)

        async with bus.subscribe(TOPIC, group="a") as records:
            assert values(await take(records, 1)) == [b"1"]

    async def test_an_error_of_the_subscriber_comes_out_as_it_is(self, bus: Bus) -> None:
        error = LookupError("mine")
        seen: BaseException | None = None
        try:
            async with bus.subscribe(TOPIC, group="a"):
                raise error
        except LookupError as raised:
            seen = raised

        assert seen is error

    async def test_a_dead_letter_holds_the_bytes_as_they_were_and_where_they_stood(
        self, bus: Bus
    ) -> None:
        await bus.publish(TOPIC, key=b"k\xff", value=b"\xfe{")
        async with bus.subscribe(TOPIC, group="a") as records:
            (record,) = await take(records, 1)

        await dead_letter(bus, record, json.JSONDecodeError("no", "", 0))

        async with bus.subscribe(DEAD_LETTERS, group="a") as records:
            (dead,) = await take(records, 1)
        assert (dead.key, dead.value) == (b"k\xff", b"\xfe{")
        assert dead.headers == {
            "topic": TOPIC,
            "partition": str(record.partition),
            "offset": str(record.offset),
            "error": "JSONDecodeError",
        }
