"""The public feed: every event as it is stored, in order for each stream, nobody in clear."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from cs.bus.errors import BusUnavailable
from cs.bus.memory import MemoryBus
from cs.bus.port import NO_HEADERS, Record
from cs.bus.topics import EVENTS, decode_event
from cs.domain.codec import AnyEvent
from cs.domain.key import QuotaGranted
from cs.eventlog.port import NO_STREAM, Append
from cs.pipeline import feed as feeding
from cs.pipeline.feed import feed
from domain.acme_run import AT
from domain.golden_files import NAMES, golden_event
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog


class RefusingBus(MemoryBus):
    """Keeps what came; refuses the first record of each key a given number of times."""

    def __init__(self, refusals: int = 0) -> None:
        super().__init__([(EVENTS, "others")])
        self._left: dict[bytes, int] = {}
        self._refusals = refusals
        self.refused = 0
        self.never: bytes | None = None

    async def publish(
        self, topic: str, *, key: bytes, value: bytes, headers: Mapping[str, str] = NO_HEADERS
    ) -> None:
        if key == self.never:
            raise BusUnavailable("its partition has no leader")
        left = self._left.setdefault(key, self._refusals)
        if left:
            self._left[key] = left - 1
            self.refused += 1
            raise BusUnavailable("away")
        await super().publish(topic, key=key, value=value, headers=headers)


class RunningFeed:
    def __init__(self, bus: MemoryBus | None = None) -> None:
        self.keys = MemoryKeyStore()
        self.log = MemoryEventLog(self.keys)
        self.bus = bus or MemoryBus([(EVENTS, "others")])
        self.kept: list[int] = []

    @asynccontextmanager
    async def running(self, after: int = 0) -> AsyncIterator[None]:
        async def keep(position: int) -> None:
            self.kept.append(position)

        task = asyncio.create_task(feed(self.log, self.bus, after=after, save_position=keep))
        try:
            yield
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def append(self, stream: str, *events: AnyEvent) -> None:
        version = len(await self.log.read(stream)) - 1
        expected = NO_STREAM if version < 0 else version
        await self.log.append([Append(stream, expected, events)])

    async def records(self, count: int) -> list[Record]:
        taken: list[Record] = []
        async with asyncio.timeout(10), self.bus.subscribe(EVENTS, group="others") as records:
            async for record in records:
                taken.append(record)
                await records.commit(record)
                if len(taken) == count:
                    break
        return taken


def units(number: int) -> QuotaGranted:
    return QuotaGranted(units=number, at=AT)


def places(records: list[Record]) -> list[tuple[str, int]]:
    return [(e.stream, e.version) for e in (decode_event(r.value) for r in records)]


async def test_every_event_goes_out_as_it_is_stored_under_its_stream() -> None:
    others = RunningFeed()
    async with others.running():
        for name in NAMES:
            await others.append(f"{name.partition('.')[0]}-x", golden_event(name))
        records = await others.records(len(NAMES))

    stored = await others.log.stored(0)
    by_position = {row.position: row for row in stored}
    for record in records:
        event = decode_event(record.value)
        row = by_position.pop(event.position)
        assert (event.stream, event.version, event.topic) == row[1:4]
        assert bytes(event.state) == row.state
        assert record.key == event.stream.encode()
        assert record.headers["event"] == event.topic
    assert not by_position


async def test_events_of_one_stream_come_in_their_order_whatever_the_bus_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeding, "RETRY_S", 0)
    bus = RefusingBus(refusals=3)
    others = RunningFeed(bus)
    for number in range(20):
        await others.append(f"key-{number % 4}", units(number))
    async with others.running():
        records = await others.records(20)

    for stream in range(4):
        of_stream = [version for name, version in places(records) if name == f"key-{stream}"]
        assert of_stream == [0, 1, 2, 3, 4]
    assert bus.refused == 12


async def test_a_page_that_was_not_kept_goes_out_again() -> None:
    others = RunningFeed()
    await others.append("key-a", units(1), units(2))

    async def dies(_: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await feed(others.log, others.bus, after=0, save_position=dies)
    async with others.running():
        again = await others.records(4)

    assert [version for _, version in places(again)] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "damaged", [b"\xff{", b'{"units":1,"by":"J\xffo"}', b"[]", b'{"lookup":5}']
)
async def test_a_damaged_event_holds_up_its_own_stream_and_goes_out_when_it_is_mended(
    monkeypatch: pytest.MonkeyPatch, damaged: bytes
) -> None:
    monkeypatch.setattr(feeding, "MENDED_S", 0.001)
    others = RunningFeed()
    await others.append("key-a", units(1), units(2))
    await others.append("key-b", units(3))
    whole = others.log.spoil(1, damaged)
    async with others.running():
        (first,) = await others.records(1)
        assert places([first]) == [("key-b", 0)]
        assert others.kept == []

        others.log.spoil(1, whole)
        assert places(await others.records(2)) == [("key-a", 0), ("key-a", 1)]
        await others.append("key-c", units(4))
        await others.records(1)
    assert others.kept[-1] >= 3
