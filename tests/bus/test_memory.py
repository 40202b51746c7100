import asyncio

import pytest

from contracts.bus import OTHER, TOPIC, BusContract, publish, take, values
from cs.bus import memory
from cs.bus.memory import MemoryBus
from cs.bus.port import BusUnavailable
from cs.bus.topics import DEAD_LETTERS


@pytest.fixture
def bus() -> MemoryBus:
    return MemoryBus((topic, group) for topic in (TOPIC, OTHER, DEAD_LETTERS) for group in "ab")


class TestMemoryBus(BusContract):
    pass


async def test_what_a_leaving_member_did_not_finish_goes_to_one_that_waits(
    bus: MemoryBus,
) -> None:
    await publish(bus, b"1", b"2")
    async with bus.subscribe(TOPIC, group="a") as stays:
        async with bus.subscribe(TOPIC, group="a") as leaves:
            await take(leaves, 2)
            waiting = asyncio.create_task(take(stays, 2))
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])
            assert not waiting.done()

        assert values(await waiting) == [b"1", b"2"]


async def test_a_group_it_was_never_told_of_gets_what_comes_after_it_joined(
    bus: MemoryBus,
) -> None:
    await publish(bus, b"before")
    async with bus.subscribe(TOPIC, group="new") as records:
        await publish(bus, b"after")

        assert values(await take(records, 1)) == [b"after"]


async def test_publishing_waits_for_room(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "WAITING", 2)
    async with bus.subscribe(TOPIC, group="a") as a, bus.subscribe(TOPIC, group="b") as b:
        await publish(bus, b"1", b"2")
        third = asyncio.create_task(publish(bus, b"3"))
        await take(a, 1)
        await take(b, 1)

        await third

        assert values(await take(a, 2)) == [b"2", b"3"]
        assert values(await take(b, 2)) == [b"2", b"3"]


async def test_publishing_gives_up_when_there_is_no_room_in_time(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "WAITING", 1)
    monkeypatch.setattr(memory, "PUBLISH_TIMEOUT_S", 0.01)
    await publish(bus, b"1")

    with pytest.raises(BusUnavailable, match=TOPIC):
        await publish(bus, b"2")

    async with bus.subscribe(TOPIC, group="a") as records:
        assert values(await take(records, 1)) == [b"1"]
