"""A faulty bus loses, doubles and delays records, and no other bus does."""

import asyncio

import pytest

from contracts.bus import TOPIC, publish, take, values
from cs.bus import faulty
from cs.bus.errors import BadBusFaults
from cs.bus.faulty import BusFaults, FaultyBus
from cs.bus.memory import MemoryBus


@pytest.fixture
def bus() -> MemoryBus:
    return MemoryBus([(TOPIC, "a")])


async def received(bus: MemoryBus, count: int) -> list[bytes]:
    async with bus.subscribe(TOPIC, group="a") as records:
        return values(await take(records, count))


async def test_a_dropped_record_never_comes(bus: MemoryBus) -> None:
    await publish(FaultyBus(bus, BusFaults(drop=1)), b"1")
    await publish(bus, b"2")

    assert await received(bus, 1) == [b"2"]


async def test_a_doubled_record_comes_twice(bus: MemoryBus) -> None:
    await publish(FaultyBus(bus, BusFaults(duplicate=1)), b"1", b"2")

    assert await received(bus, 4) == [b"1", b"1", b"2", b"2"]


async def test_a_late_record_is_overtaken_by_the_next_of_its_key(bus: MemoryBus) -> None:
    await publish(FaultyBus(bus, BusFaults(late=1), late_s=0.01), b"1")
    await publish(bus, b"2")

    assert await received(bus, 2) == [b"2", b"1"]


async def test_the_share_of_records_that_is_told_is_met(bus: MemoryBus) -> None:
    unreliable = FaultyBus(bus, BusFaults(drop=0.1))

    await publish(unreliable, *[b"1"] * 2000)

    assert 100 < unreliable.injected["drop"] < 300


async def test_without_faults_the_bus_itself_is_used(bus: MemoryBus) -> None:
    assert faulty.with_faults(bus) is bus


def test_armed_every_bus_has_the_faults(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faulty, "_armed", None)

    faulty.arm("drop=1")

    unreliable = faulty.with_faults(bus)
    assert isinstance(unreliable, FaultyBus)
    asyncio.run(publish(unreliable, b"1"))
    assert unreliable.injected["drop"] == 1


@pytest.mark.parametrize("text", ["lose=0.1", "drop", "drop=2", "drop=1.5", "drop=0.1;late=1"])
def test_what_cannot_be_done_is_told(text: str) -> None:
    with pytest.raises(BadBusFaults, match="is not like drop"):
        faulty.parse(text)
