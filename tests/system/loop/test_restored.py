"""An older log is restored: what the lost history still says is not taken for the new one's."""

from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from cs.bus.topics import OUTCOMES, decode_outcome
from cs.domain.brand.brand import stream_of
from cs.domain.brand.events import BrandResolved, LookupStarted
from cs.domain.contact import BrandFacts, Query
from cs.domain.stages.work import Resolved
from cs.eventlog.port import Append, EventLog
from cs.operations.operator import NewSecret
from cs.plugins.sources import BrandAnswer
from harness.in_process import in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import ACME, Directory, tools
from system.loop.unreliable_bus import LosingBus, Message


@dataclass
class Lost:
    """What outlives a service whose log was restored to before its first search."""

    key: NewSecret
    log: MemoryEventLog  # the older one
    keys: MemoryKeyStore
    started: LookupStarted
    said: list[Message]  # by stages, and not yet heard


async def copy_of(log: EventLog, keys: MemoryKeyStore) -> MemoryEventLog:
    """Return a log that has what *log* has now, and will not have what comes."""
    older = MemoryEventLog(keys)
    for recorded in await log.tail(0):
        await older.append([Append(recorded.stream, recorded.version - 1, [recorded.event])])
    return older


async def start_of(log: EventLog) -> LookupStarted:
    """Return the start of the only lookup."""
    events = [recorded.event for recorded in await log.tail(0)]
    (started,) = [event for event in events if isinstance(event, LookupStarted)]
    return started


@pytest.fixture
async def lost() -> Lost:
    """A service that had found no brand Acme, and had not heard of it."""
    said, keys = list[Message](), MemoryKeyStore()

    def hold_back(message: Message) -> bool:
        if message.topic == OUTCOMES:
            said.append(message)
        return message.topic == OUTCOMES

    nobody = replace(tools(), brand_sources=[Directory({})])
    async with in_memory(nobody, bus=LosingBus(hold_back), keys=keys) as service:
        key = await service.new_key()
        log = service.running.streams.log
        older = await copy_of(log, keys)
        async with service.client(key) as client:
            await client.post("/contacts", json={"brand": "Acme"})
        while not said:
            await service.running.reading.keys()
        return Lost(key, older, keys, await start_of(log), said)


@dataclass
class Overtaken(Directory):
    """Answers after what was said on the bus long ago has come."""

    bus: LosingBus = field(default_factory=lambda: LosingBus(lambda _: False))
    late: list[Message] = field(default_factory=list)

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        for message in self.late:
            await self.bus.hand_over(message)
        return await super().find(query, known)


async def test_what_a_stage_said_in_the_lost_history_is_ignored_when_it_comes_late(
    lost: Lost,
) -> None:
    """The brand is found by now, with as many lookups in its stream as before."""
    directory = Overtaken({"acme": ACME}, late=lost.said)
    world = replace(tools(), brand_sources=[directory])
    async with in_memory(world, bus=directory.bus, keys=lost.keys, log=lost.log) as service:
        record = (await service.search(lost.key, brand="Acme")).json()

    said = [decode_outcome(message.value).finding for message in lost.said]
    assert {each.status for each in said if isinstance(each, Resolved)} == {"no_match"}
    started = await start_of(lost.log)
    assert (started.number, stream_of(started.lookup)) == (
        lost.started.number,
        stream_of(lost.started.lookup),
    )
    assert (record["status"], record["charged"]) == ("done", True)
    resolved = [
        recorded.event.status
        for recorded in await lost.log.tail(0)
        if isinstance(recorded.event, BrandResolved)
    ]
    assert resolved == ["matched"]
