"""What falls to a part is done there and nowhere else: by the driver, and by the relay."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cs.bus.memory import MemoryBus
from cs.domain.brand.events import MailDomainChecked
from cs.domain.key import settled
from cs.domain.mail.mailbox import DomainFacts
from cs.eventlog.port import NO_STREAM, Append, RecordedEvent
from cs.eventlog.streams import Streams
from cs.pipeline.driver_notes import DriverNotes
from cs.pipeline.relay import relay
from cs.runtime.clock import ManualClock
from cs.runtime.part import WHOLE, Part, all_parts
from domain.acme_run import AT, AcmeRun
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.receipted import RECEIPTS
from projections.history import admitted

HALVES = all_parts(2)
BRANDS = [f"brand-{n}" for n in range(12)]


def test_each_name_falls_to_one_part_and_every_part_has_some() -> None:
    names = [f"brand-{n:x}" for n in range(2_000)]
    for number in (1, 2, 3, 64):
        shares = [sum(part.has(name) for name in names) for part in all_parts(number)]
        assert sum(shares) == len(names)
        assert min(shares) > len(names) / number / 4


def test_a_name_falls_to_the_same_part_in_every_version() -> None:
    """Another hash would leave work to nobody while two versions run side by side."""
    names = ("brand-0a1b", "acme.test", "müller.de")
    assert [[p.number for p in all_parts(8) if p.has(name)] for name in names] == [
        [5],
        [1],
        [8],
    ]


def recorded() -> Iterator[RecordedEvent]:
    """Yield a lookup of each brand, which has checked a mail domain and ends."""
    for n, brand in enumerate(BRANDS):
        run = AcmeRun(stream=brand).verifying().times_out()
        checked = MailDomainChecked(
            at=AT, lookup=f"{brand}.1", mail_domain=f"acme{n}.test", learned=DomainFacts()
        )
        for version, event in enumerate([*run.events[:-1], checked, run.events[-1]]):
            yield RecordedEvent(100 * n + version + 1, brand, version, event)


def test_what_an_event_wants_done_is_noted_in_one_part() -> None:
    orders: dict[Part, Counter[tuple[str, str]]] = {}
    for part in (WHOLE, *HALVES):
        clock = ManualClock(AT)
        streams = Streams(MemoryEventLog(MemoryKeyStore()))
        notes = DriverNotes(streams, clock, clock, part=part)
        found = [notes.note(each) for each in recorded()]
        orders[part] = Counter(each.order for each in found if each is not None)

    first, second = (orders[part] for part in HALVES)
    assert first + second == orders[WHOLE]
    assert not first & second
    for kind in ("lookup", "mail-domain"):
        assert all(any(what == kind for what, _ in each) for each in (first, second))


def test_a_search_stored_with_its_end_is_not_settled_again() -> None:
    clock = ManualClock(AT)
    notes = DriverNotes(Streams(MemoryEventLog(MemoryKeyStore())), clock, clock)
    joined = RecordedEvent(1, "key-a", 0, admitted("s-joined", "brand-a.1"))
    reused = RecordedEvent(2, "key-b", 0, admitted("s-reused", "brand-a.1"))
    charged = settled("s-reused", "brand-a.1", "done", 1, cached=True, at=AT)

    wanted = notes.note_page([joined, reused, RecordedEvent(3, "key-b", 1, charged)])

    assert [recorded.position for recorded, _ in wanted] == [1]  # a moment too late
    assert notes.settler.waiting("brand-a.1") == {"s-joined": "a"}


class RecordingBus(MemoryBus):
    """Keeps the key of everything that was published."""

    def __init__(self) -> None:
        super().__init__([])
        self.published: Counter[tuple[str, bytes]] = Counter()

    async def publish(
        self,
        topic: str,
        *,
        key: bytes,
        value: bytes,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        await super().publish(topic, key=key, value=value, headers=headers)
        self.published[topic, key] += 1


async def test_two_relays_publish_all_work_each_its_part() -> None:
    log = MemoryEventLog(MemoryKeyStore())
    for brand in BRANDS:
        run = AcmeRun(stream=brand).verifying()
        await log.append([Append(brand, NO_STREAM, run.events)])
    head = await log.head()
    published: dict[Part, Counter[tuple[str, bytes]]] = {}
    for part in (WHOLE, *HALVES):
        bus, done = RecordingBus(), asyncio.Event()

        async def save_position(position: int, done: asyncio.Event = done) -> None:
            if position >= head:
                done.set()

        relaying = asyncio.create_task(
            relay(log, bus, after=0, receipts=RECEIPTS, save_position=save_position, part=part)
        )
        await done.wait()
        relaying.cancel()
        await asyncio.gather(relaying, return_exceptions=True)
        published[part] = bus.published

    first, second = (published[part] for part in HALVES)
    assert first + second == published[WHOLE]
    assert sum(published[WHOLE].values()) == 4 * len(BRANDS)
    assert first
    assert second
    assert not first & second, "what has one key on a topic goes out in order, by one relay"
