import asyncio

import pytest

from bus.memory_bus import memory_bus
from contracts.bus import TOPIC, BusContract, publish, take, values
from cs.bus.port import Bus, BusUnavailable


@pytest.fixture
def bus() -> Bus:
    return memory_bus()


class TestMemoryBus(BusContract):
    pass


async def test_what_a_leaving_member_did_not_finish_goes_to_one_that_waits(
    bus: Bus,
) -> None:
    await publish(bus, b"1", b"2")
    async with bus.subscribe(TOPIC, group="a") as stays:
        async with bus.subscribe(TOPIC, group="a") as leaves:
            await take(leaves, 2)
            waiting = asyncio.create_task(take(stays, 2))
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
            assert not waiting.done()

        assert values(await waiting) == [b"1", b"2"]


async def test_a_new_group_gets_records_published_after_it_joined(
    bus: Bus,
) -> None:
    await publish(bus, b"before")
    async with bus.subscribe(TOPIC, group="new") as records:
        await publish(bus, b"after")

        assert values(await take(records, 1)) == [b"after"]


async def test_publishing_waits_for_room() -> None:
    bus = memory_bus(waiting=2)
    async with bus.subscribe(TOPIC, group="a") as a, bus.subscribe(TOPIC, group="b") as b:
        await publish(bus, b"1", b"2")
        third = asyncio.create_task(publish(bus, b"3"))
        await take(a, 1)
        await take(b, 1)

        await third

        assert values(await take(a, 2)) == [b"2", b"3"]
        assert values(await take(b, 2)) == [b"2", b"3"]


async def test_publishing_gives_up_when_there_is_no_room_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bus = memory_bus(waiting=1)
    monkeypatch.setattr("cs.bus.memory.PUBLISH_TIMEOUT_S", 0.01)
    await publish(bus, b"1")

    with pytest.raises(BusUnavailable, match=TOPIC):
        await publish(bus, b"2")

    async with bus.subscribe(TOPIC, group="a") as records:
        assert values(await take(records, 1)) == [b"1"]
