"""One stream that cannot be read stops nobody else's, and is taken up again when mended."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from cs.bus.memory import MemoryBus
from cs.bus.topics import DEAD_LETTERS, OUTCOMES, STAGE_TOPICS, encode
from cs.domain.brand.brand import decide
from cs.domain.brand.events import LookupFinished, StartLookup
from cs.domain.causation import StartCause, TimerCause
from cs.domain.key import SearchSettled
from cs.domain.stages.work import Outcome, Resolved
from cs.eventlog.errors import DamagedEvent
from cs.eventlog.port import EventLog
from cs.eventlog.streams import Streams
from cs.pipeline.outcomes import GROUP
from cs.pipeline.relay import relay
from cs.projections.reading import Reading
from cs.projections.runner import ViewRunner
from cs.projections.searches import SEARCHES
from cs.projections.set_aside import ASIDE, SET_ASIDE
from cs.projections.usage import USAGE
from cs.projections.views import Views
from domain.acme_run import AT, QUERY
from harness.manual_clock import ManualClock
from pipeline.managed import process_manager
from pipeline.receipted import RECEIPTS, receipted
from projections.history import admitted, issued
from system.damage.stores import PostgresStores, SqliteStores, Stores, append, opened

HURT, OTHER = "brand-hurt", "brand-other"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look for what is mended without waiting long."""
    monkeypatch.setattr("cs.eventlog.damage.RETRY_S", 0.01)


@pytest.fixture
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    if request.param == "sqlite":
        return SqliteStores(tmp_path)
    return PostgresStores(request.getfixturevalue("database"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "stores" in metafunc.fixturenames:
        slow = pytest.param("postgres", marks=pytest.mark.slow)
        metafunc.parametrize("stores", ["sqlite", slow], indirect=True)


async def start(log: EventLog, stream: str) -> None:
    begin = StartLookup(stream=stream, query=QUERY, deadline=timedelta(seconds=120), at=AT)
    await Streams(log).change(
        stream, lambda state: decide(begin, state), caused_by=StartCause()
    )


async def position_of(log: EventLog, stream: str, version: int) -> int:
    return (await log.read(stream))[version].position


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(20):
        while not await holds():
            await asyncio.wait([asyncio.create_task(asyncio.to_thread(int))])


@dataclass
class Process:
    """What one process of the service works with, all its roles but the stages."""

    log: EventLog
    views: Views
    reading: Reading
    streams: Streams
    bus: MemoryBus
    clock: ManualClock

    async def say_no_match(self, stream: str) -> None:
        outcome = Outcome(
            lookup=f"{stream}.1",
            stage="brand-resolution",
            item="",
            attempt=1,
            finding=Resolved(status="no_match"),
        )
        await self.bus.publish(OUTCOMES, key=stream.encode(), value=encode(receipted(outcome)))

    async def ends(self, stream: str) -> list[str]:
        """Return how the lookups and searches of *stream* ended."""
        events = (each.event for each in await self.log.read(stream))
        return [e.outcome for e in events if isinstance(e, LookupFinished | SearchSettled)]

    async def ended(self, stream: str, outcome: str) -> None:
        async def holds() -> bool:
            return await self.ends(stream) == [outcome]

        await until(holds)


@asynccontextmanager
async def process(stores: Stores, *, restart_work: bool = False) -> AsyncIterator[Process]:
    """Run what the service does beside the stages, begun now, until left."""
    async with opened(stores) as (log, views):
        streams = Streams(log)
        runner = ViewRunner(log, views, stores.keys, watch_s=0.01, set_aside=streams.set_aside)
        reading = Reading(log, views, runner, stores.keys)
        topics = [(topic, name) for name, topic in STAGE_TOPICS.items()]
        bus = MemoryBus([(OUTCOMES, GROUP), (DEAD_LETTERS, "test"), *topics])
        clock = ManualClock(AT)
        await runner.catch_up()
        roles = [
            asyncio.create_task(role)
            for role in (
                runner.run(),
                relay(log, bus, after=0, receipts=RECEIPTS, set_aside=streams.set_aside),
                process_manager(streams, bus, reading, clock, restart_work=restart_work),
                streams.set_aside.watch(),
            )
        ]
        try:
            yield Process(log, views, reading, streams, bus, clock)
            for role in roles:
                assert not role.done(), role.exception()
        finally:
            for role in roles:
                role.cancel()
            await asyncio.gather(*roles, return_exceptions=True)


async def test_a_search_whose_key_is_damaged_is_settled_when_that_is_mended(
    stores: Stores,
) -> None:
    async with stores.log() as log:
        for key in ("a", "b"):
            await append(log, f"key-{key}", issued(), admitted(f"s-{key}", f"{OTHER}.1"))
        await start(log, OTHER)
        hurt = await position_of(log, "key-a", 1)
    whole = await stores.state(hurt)
    await stores.write(hurt, b"\xff")

    async with process(stores, restart_work=True) as service:
        await service.say_no_match(OTHER)
        await service.ended("key-b", "no_linkedin")
        assert service.streams.set_aside.why is not None
        with pytest.raises(DamagedEvent):
            await service.streams.key("a")
        assert [place for place, _ in await service.views.tagged(ASIDE, SET_ASIDE)] == ["key-a"]
        with pytest.raises(DamagedEvent):
            await service.reading.search("s-a", "a")
        found = await service.reading.search("s-b", "b")
        assert found is not None
        assert found.row.status == "failed"

        await stores.write(hurt, whole)

        await service.ended("key-a", "no_linkedin")

        async def shown() -> bool:
            row = await service.views.get(SEARCHES, "s-a")
            return row is not None and row.status == "failed"

        await until(shown)
        usage = await service.views.get(USAGE, "a")
        assert usage is not None
        assert (usage.reserved, usage.searches) == (0, 1)
        assert await service.views.tagged(ASIDE, SET_ASIDE) == []
        assert service.streams.set_aside.why is None


async def test_a_lookup_that_is_damaged_ends_when_it_is_mended(stores: Stores) -> None:
    async with stores.log() as log:
        for key, brand in (("a", HURT), ("b", OTHER)):
            await start(log, brand)
            await append(log, f"key-{key}", issued(), admitted(f"s-{key}", f"{brand}.1"))
        hurt = await position_of(log, HURT, 1)
    whole = await stores.state(hurt)
    await stores.write(hurt, b"\xff")

    async with process(stores) as service:
        await service.say_no_match(HURT)  # nobody can take it in
        await service.say_no_match(OTHER)
        await service.ended("key-b", "no_linkedin")
        service.clock.set(AT + timedelta(seconds=121))  # its timer rings, in vain
        assert await service.ends("key-a") == []

        await stores.write(hurt, whole)

        await service.ended("key-a", "timeout")
        async with service.bus.subscribe(DEAD_LETTERS, group="test") as letters:
            async for letter in letters:
                assert letter.key == HURT.encode()
                break


async def test_open_work_of_a_mended_lookup_is_issued_again(stores: Stores) -> None:
    async with stores.log() as log:
        await start(log, HURT)
        hurt = await position_of(log, HURT, 1)
    whole = await stores.state(hurt)
    await stores.write(hurt, b"\xff")

    async with process(stores) as service:
        await append(service.log, "key-b", issued())  # read past it
        await until(lambda: is_at_head(service))
        await stores.write(hurt, whole)

        async with service.bus.subscribe(
            STAGE_TOPICS["brand-resolution"], group="brand-resolution"
        ) as records:
            async with asyncio.timeout(10):
                async for record in records:
                    assert record.key == f"{HURT}.1".encode()
                    if b'"attempt":2' in record.value:  # the first may be published late, too
                        break
        again = (await service.log.read(HURT))[-1]
        assert again.caused_by == TimerCause(timer="mended")


async def is_at_head(service: Process) -> bool:
    return await service.views.position() == await service.log.head()


async def test_the_end_of_a_lookup_that_is_damaged_settles_nobody_wrongly(
    stores: Stores,
) -> None:
    async with stores.log() as log:
        await append(log, "key-a", issued(), admitted("s-a", f"{HURT}.1"))
        await start(log, HURT)
    async with process(stores) as service:
        await service.say_no_match(HURT)
        await service.ended("key-a", "no_linkedin")
        hurt = await position_of(service.log, HURT, 2)
    whole = await stores.state(hurt)
    await stores.write(hurt, b"{}")

    async with opened(stores) as (_, views):
        await views.reset()
    async with process(stores) as service:
        await until(lambda: is_at_head(service))
        with pytest.raises(DamagedEvent):
            await service.reading.search("s-a", "a")

        await stores.write(hurt, whole)

        async def told() -> bool:
            try:
                found = await service.reading.search("s-a", "a")
            except DamagedEvent:
                return False
            return found is not None and found.body is not None

        await until(told)


async def test_what_is_set_aside_stays_so_over_a_restart_and_is_then_taken_up(
    stores: Stores,
) -> None:
    async with stores.log() as log:
        await append(log, "key-a", issued(), admitted("s-a", f"{OTHER}.1"))
        await start(log, OTHER)
    whole = await stores.state(2)
    await stores.write(2, b"\xff")
    async with process(stores) as service:
        await service.say_no_match(OTHER)
        await service.ended(OTHER, "no_linkedin")
        await until(lambda: is_at_head(service))

    async with process(stores) as service:
        assert "key-a" in service.streams.set_aside
        await stores.write(2, whole)
        await service.ended("key-a", "no_linkedin")
