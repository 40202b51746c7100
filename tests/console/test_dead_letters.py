"""Messages that could not be handled: shown, read for a reason, sent again, discarded."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from html import unescape

import httpx
import pytest

from cs.api.admission import NONCE
from cs.assembly.one_process import memory_bus
from cs.bus import dead_letters
from cs.bus.dead_letters import DeadLetter, DeadLetterBox
from cs.bus.memory import MemoryBus
from cs.bus.port import BusUnavailable
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, RETENTION
from cs.console.views import ROWS
from cs.domain.brand.brand import brand_stream, lookup_id
from cs.domain.causation import StartCause
from cs.domain.contact import Query
from cs.domain.disclosure import DisclosureMade
from cs.domain.operator_actions import act_of
from cs.domain.person import PersonErased
from cs.eventlog.categories import SERVICE
from cs.eventlog.damage import read_past
from cs.eventlog.port import NO_STREAM
from cs.runtime.coordination import in_background
from cs.runtime.ids import random_id
from harness.in_process import Service, in_memory
from harness.manual_clock import ManualClock
from harness.outside import tools

LOOKUP = lookup_id(brand_stream(Query("Veltrana")), 3, random_id("", NONCE))
HOSTILE = b'{"lookup": "%s", "who": "<script>window.ran=1</script> Jane Doe"}' % LOOKUP.encode()


@pytest.fixture
async def bus() -> MemoryBus:
    return memory_bus()


@pytest.fixture
async def service(bus: MemoryBus) -> AsyncIterator[Service]:
    async with in_memory(tools(), bus=bus, console=True) as running:
        await bus.publish(OUTCOMES, key=b"k", value=HOSTILE)
        async with running.console() as client:
            await seen(client, "0-0")
        yield running


AT = datetime(2026, 11, 28, tzinfo=UTC)


@asynccontextmanager
async def reading(
    bus: MemoryBus, clock: ManualClock, handled: Mapping[str, datetime] | None = None
) -> AsyncIterator[DeadLetterBox]:
    """Yield a box that reads *bus*; *handled* is what the log says."""

    async def handled_in_log() -> Mapping[str, datetime]:
        await asyncio.sleep(0)  # as a read of the log does, lets the others run
        return {} if handled is None else handled

    box = DeadLetterBox(bus, clock.now, handled_in_log)
    assert box.why is not None, "it does not say that there are none before it has joined"
    async with in_background(box.run(), "box"):
        for _ in range(10):
            await asyncio.sleep(0)
        yield box


async def publish(bus: MemoryBus, value: bytes, offset: str = "0") -> None:
    at = {"topic": OUTCOMES, "partition": "0", "offset": offset, "error": "ForgedOutcome"}
    await bus.publish(DEAD_LETTERS, key=b"", value=value, headers=at)


async def until(
    box: DeadLetterBox, holds: Callable[[Sequence[DeadLetter]], bool]
) -> Sequence[DeadLetter]:
    """Return the letters, the newest first, once *holds* of them."""
    async with asyncio.timeout(30):
        while not holds(found := await box.newest()):
            pass
    return found


async def kept(box: DeadLetterBox, count: int) -> Sequence[DeadLetter]:
    return await until(box, lambda every: len(every) == count)


async def seen(client: httpx.AsyncClient, words: str) -> str:
    """Return the page once it has *words*."""
    async with asyncio.timeout(30):
        page = ""
        while words not in page:
            page = (await client.get("/dead-letters")).text
    return page


async def acts(service: Service) -> list[tuple[str, str | None, str | None]]:
    events = await service.running.streams.log.read(SERVICE, NO_STREAM)
    found = (act_of(SERVICE, each.event) for each in events)
    return [(act.what, act.letter, act.by) for act in found if act is not None]


async def form(client: httpx.AsyncClient, **fields: str) -> dict[str, str]:
    page = (await client.get("/dead-letters")).text
    return {"csrf": re.findall(r'name="csrf" value="(\w+)"', page)[0], **fields}


async def test_what_could_not_be_read_is_listed_without_what_is_in_it(
    service: Service,
) -> None:
    async with service.console() as client:
        page = unescape(await seen(client, "0-0"))

    assert f"{OUTCOMES} 0/0" in page
    assert "ValidationError" in page
    assert f"/console/events?lookup={LOOKUP}" in page
    assert "Jane" not in page


async def test_it_is_read_once_a_reason_is_stored(service: Service) -> None:
    async with service.console() as client:
        none = await client.post("/dead-letters", data=await form(client, letter="0-0"))
        why = "Ticket 4711, a stage in Go"
        shown = await client.post(
            "/dead-letters", data=await form(client, letter="0-0", why=why)
        )

    assert none.status_code == 409
    assert "Jane" not in none.text
    assert "Jane Doe" in shown.text
    assert "<script>window" not in shown.text
    log = service.running.streams.log
    stored = [each.event for each in await read_past(log, 0, 100)]
    assert [e.asked.lookup for e in stored if isinstance(e, DisclosureMade)] == [LOOKUP]


async def test_one_that_is_sent_again_is_handled_again(service: Service) -> None:
    async with service.console() as client:
        fields = await form(client, letter="0-0", once="this-form")
        sent = await client.post("/dead-letters/send", data=fields)
        again = await client.post("/dead-letters/send", data=fields)
        back = await seen(client, "0-1")  # it is as bad as it was

    assert "It was sent again." in sent.text
    assert again.text == sent.text, "a form that is sent twice acts once"
    assert "0-0" not in back
    assert await acts(service) == [
        ("dead_letter_sent_again", f"{OUTCOMES} 0/0", "sandbox"),
    ]


async def test_one_that_is_discarded_is_gone(service: Service) -> None:
    async with service.console() as client:
        discarded = await client.post(
            "/dead-letters/discard", data=await form(client, letter="0-0")
        )
        again = await client.post("/dead-letters/discard", data={"csrf": "", "letter": "0-0"})
        page = (await client.get("/dead-letters")).text

    assert "It is discarded." in discarded.text
    assert again.status_code == 403
    assert "None. Messages that could not be read" in page
    assert await acts(service) == [
        ("dead_letter_discarded", f"{OUTCOMES} 0/0", "sandbox"),
    ]


async def test_a_letter_that_names_a_topic_of_no_stage_is_sent_nowhere(
    service: Service, bus: MemoryBus
) -> None:
    stranger = {"topic": "someone.elses", "partition": "0", "offset": "7", "error": "x"}
    await bus.publish(DEAD_LETTERS, key=b"", value=b"{}", headers=stranger)
    async with service.console() as client:
        await seen(client, "0-1")
        refused = await client.post("/dead-letters/send", data=await form(client, letter="0-1"))

    assert refused.status_code == 409
    assert "discard it" in refused.text
    assert await acts(service) == []


async def test_letters_are_as_old_as_their_topic_at_most(bus: MemoryBus) -> None:
    clock = ManualClock(AT)
    async with reading(bus, clock) as box:
        await publish(bus, b"\xff")
        (found,) = await kept(box, 1)
        assert found.lookup is None
        clock.set(clock.now() + RETENTION * 2)

        assert await box.get(found.id) is None
        assert await box.newest() == []


async def test_one_that_the_log_says_is_handled_since_is_let_go(bus: MemoryBus) -> None:
    handled = dict[str, datetime]()
    async with reading(bus, ManualClock(AT), handled) as box:
        await publish(bus, b"{}", offset="6")
        await publish(bus, b"{}", offset="7")
        seventh, sixth = await kept(box, 2)
        # Another record stood at that place before: a bus in memory counts from 0 again.
        handled[sixth.place] = AT - RETENTION
        handled[seventh.place] = AT

        assert await box.newest() == [sixth]
        assert await box.get(seventh.id) is None


async def test_one_that_is_being_handled_is_given_to_no_other_caller(bus: MemoryBus) -> None:
    async with reading(bus, ManualClock(AT)) as box:
        await publish(bus, b"{}")
        (letter,) = await kept(box, 1)
        with pytest.raises(BusUnavailable):  # noqa: PT012
            async with box.handling(letter):
                assert await box.get(letter.id) is None
                raise BusUnavailable("away")
        assert await box.get(letter.id) == letter
        async with box.handling(letter):
            pass

        assert await box.newest() == []


async def test_the_oldest_beyond_a_number_of_bytes_are_let_go(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "MOST_BYTES", 10)
    async with reading(bus, ManualClock(AT)) as box:
        for value in (b"1" * 6, b"2" * 4, b"3" * 5):
            await publish(bus, value)
        found = await until(box, lambda every: bool(every) and every[0].id == "0-2")

        assert [each.id for each in found] == ["0-2", "0-1"]


async def test_letters_that_are_too_old_leave_memory_when_none_asks(
    bus: MemoryBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_letters, "PRUNE_S", 0.001)
    clock = ManualClock(AT)
    async with reading(bus, clock) as box:
        await publish(bus, b"{}")
        await kept(box, 1)
        clock.set(clock.now() + RETENTION * 2)
        async with asyncio.timeout(30):
            number = 1
            while number:
                await asyncio.sleep(0)
                number = len(box._kept)


async def test_an_erasure_clears_all_letters(service: Service) -> None:
    await service.running.streams.change(
        "person-x",
        lambda _: [PersonErased(found_in=(f"{LOOKUP}#p1",), at=datetime.now(UTC))],
        caused_by=StartCause(),
    )
    async with service.console() as client:
        page = await seen(client, "None. Messages")

    assert "0-0" not in page


async def test_letters_are_listed_in_pages(service: Service, bus: MemoryBus) -> None:
    for _ in range(ROWS):
        await publish(bus, b"{}")
    async with service.console() as client:
        first = await seen(client, f"0-{ROWS}")
        second = (await client.get("/dead-letters", params={"after": ROWS})).text

    assert f"/console/dead-letters?after={ROWS}" in first
    assert "<option>0-0" not in first
    assert re.findall(r'<option value="(0-\d+)"', second) == ["0-0"] * 3
    assert "Older" not in second
