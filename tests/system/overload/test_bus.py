"""A topic holds so many messages and no more; room comes back as they are taken."""

import pytest

from contracts.bus import TOPIC, publish, take, values
from cs.bus import memory
from cs.bus.errors import BusUnavailable
from cs.bus.memory import MemoryBus


async def test_a_full_topic_refuses_and_takes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PUBLISH_TIMEOUT_S", 0.01)
    bus = MemoryBus([(TOPIC, "a")], waiting=2)
    await publish(bus, b"1", b"2")
    with pytest.raises(BusUnavailable, match="2 records wait"):
        await publish(bus, b"3")

    async with bus.subscribe(TOPIC, group="a") as records:
        await take(records, 1)
        await publish(bus, b"4")

        assert values(await take(records, 2)) == [b"2", b"4"]
