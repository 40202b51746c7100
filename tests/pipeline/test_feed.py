"""The public feed: every event as it is stored, in order for each stream, nobody in clear."""

import json
from typing import Any

import pytest

from cs.bus.port import Record
from cs.domain.key import QuotaGranted
from domain.acme_run import AT
from domain.golden_files import NAMES, golden_event
from pipeline.loop import Loop, RefusingBus

EVENTS = "cs.events.v1"


class Saved(list[int]):
    """The positions that a feed has saved."""

    async def save(self, position: int) -> None:
        self.append(position)


def units(number: int) -> QuotaGranted:
    return QuotaGranted(units=number, at=AT)


def event_in(record: Record) -> dict[str, Any]:
    return dict(json.loads(record.value))


def places(records: list[Record]) -> list[tuple[str, int]]:
    return [(e["stream"], e["version"]) for e in map(event_in, records)]


async def test_every_event_goes_out_as_it_is_stored_under_its_stream() -> None:
    loop = Loop()
    async with loop.running(loop.feed(Saved().save)):
        for name in NAMES:
            await loop.append(f"{name.partition('.')[0]}-x", golden_event(name))
        records = await loop.records(len(NAMES), EVENTS)

    by_position = {row.position: row for row in await loop.log.stored(0)}
    for record in records:
        event = event_in(record)
        row = by_position.pop(event["position"])
        assert (event["stream"], event["version"], event["topic"]) == row[1:4]
        assert record.value.endswith(b'"state":' + row.state + b"}")
        assert record.key == event["stream"].encode()
        assert record.headers["event"] == event["topic"]
    assert not by_position


@pytest.mark.usefixtures("quick_retries")
async def test_what_the_bus_refuses_of_a_stream_holds_up_that_stream_and_the_position() -> None:
    bus, saved = RefusingBus(lambda _topic, key, _value: key == b"key-0"), Saved()
    loop = Loop(bus=bus)
    for number in range(20):
        await loop.append(f"key-{number % 4}", units(number))
    async with loop.running(loop.feed(saved.save)):
        records = await loop.records(15, EVENTS)
        assert saved == []
        bus.refuses = lambda *_: False
        records += await loop.records(5, EVENTS)
        await loop.append("key-9", units(1))
        await loop.records(1, EVENTS)

    for stream in range(4):
        of_stream = [version for name, version in places(records) if name == f"key-{stream}"]
        assert of_stream == [0, 1, 2, 3, 4]
    assert bus.refused
    assert saved[-1] >= 20


async def test_with_too_much_refused_the_log_is_read_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cs.pipeline.feed.WAITING", 2)
    loop = Loop(bus=RefusingBus(lambda _topic, key, _value: key == b"key-stuck"))
    await loop.append("key-stuck", units(1), units(2))
    await loop.append("key-next", units(3))
    bus = loop.bus
    assert isinstance(bus, RefusingBus)
    async with loop.running(loop.feed(Saved().save)):
        with pytest.raises(TimeoutError):
            await loop.records(1, EVENTS, within_s=0.1)
        assert bus.refused == 1, "the second waits behind the first"


async def test_a_page_that_was_not_saved_goes_out_again() -> None:
    loop = Loop()
    await loop.append("key-a", units(1), units(2))

    async def dies(_: int) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await loop.feed(dies)
    async with loop.running(loop.feed(Saved().save)):
        again = await loop.records(4, EVENTS)

    assert [version for _, version in places(again)] == [0, 1, 0, 1]


@pytest.mark.usefixtures("quick_retries")
@pytest.mark.parametrize(
    "damaged", [b"\xff{", b'{"units":1,"by":"J\xffo"}', b"[]", b'{"lookup":5}']
)
async def test_a_damaged_event_holds_up_its_own_stream_and_goes_out_when_it_is_mended(
    damaged: bytes,
) -> None:
    loop, saved = Loop(), Saved()
    await loop.append("key-a", units(1), units(2))
    await loop.append("key-b", units(3))
    whole = loop.log.spoil(1, damaged)
    async with loop.running(loop.feed(saved.save)):
        (first,) = await loop.records(1, EVENTS)
        assert places([first]) == [("key-b", 0)]
        assert saved == []

        loop.log.spoil(1, whole)
        assert places(await loop.records(2, EVENTS)) == [("key-a", 0), ("key-a", 1)]
        await loop.append("key-c", units(4))
        await loop.records(1, EVENTS)
    assert saved[-1] >= 3
