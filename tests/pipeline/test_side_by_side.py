"""What the driver does for one lookup, key or mail domain holds up no other's."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest

from cs.domain.key import SearchSettled
from cs.domain.stages.work import Resolved
from cs.eventlog.open_work import UnfinishedWork
from cs.eventlog.port import Append, Ceiling
from cs.eventlog.streams import Streams
from cs.pipeline.driver import Driver
from cs.pipeline.heartbeats import MemoryHeartbeats
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from pipeline.managed import Managed

NO_MATCH = Resolved(status="no_match")
BRANDS = [f"brand-{number}" for number in range(20)]


class HoldingLog(MemoryEventLog):
    """A log whose appends to some streams wait; *holds* are what their names begin with."""

    def __init__(self) -> None:
        super().__init__(MemoryKeyStore())
        self.holds: tuple[str, ...] = ()
        self.released = asyncio.Event()
        self.held: asyncio.Queue[str] = asyncio.Queue()

    async def append(self, appends: Sequence[Append], ceiling: Ceiling | None = None) -> int:
        if self.holds and appends[0].stream.startswith(self.holds):
            self.held.put_nowait(appends[0].stream)
            await self.released.wait()
        return await super().append(appends, ceiling)

    async def held_streams(self, number: int) -> set[str]:
        """Return the streams of so many appends that wait, as soon as there are."""
        async with asyncio.timeout(10):
            return {await self.held.get() for _ in range(number)}


@pytest.fixture
async def managed() -> AsyncIterator[Managed]:
    managed = Managed(HoldingLog())
    yield managed
    await managed.views.close()


def log_of(managed: Managed) -> HoldingLog:
    assert isinstance(managed.log, HoldingLog)
    return managed.log


async def search_for(managed: Managed, brand: str) -> None:
    """Start a lookup on *brand* with a key of its own that waits for it."""
    await managed.key(brand)
    await managed.start(stream=brand)
    await managed.search(f"s-{brand}", brand, f"{brand}.1")


async def test_a_key_that_hangs_holds_up_nobody_elses_settlement(managed: Managed) -> None:
    log, (slow, quick) = log_of(managed), BRANDS[:2]
    async with managed.running():
        for brand in (slow, quick):
            await search_for(managed, brand)
        log.holds = (f"key-{slow}",)
        await managed.say("brand-resolution", NO_MATCH, lookup=f"{slow}.1")
        await log.held_streams(1)
        await managed.say("brand-resolution", NO_MATCH, lookup=f"{quick}.1")
        settled = await managed.event(SearchSettled)
        assert settled.search == f"s-{quick}"

        log.released.set()
        await managed.event(SearchSettled, 2)


class EmptyViews:
    """Views that reflect nothing yet: whoever goes by them reads the whole log."""

    async def unfinished(self) -> UnfinishedWork:
        return UnfinishedWork(0, (), ())


async def test_a_run_that_starts_ends_and_is_joined_in_one_page_is_settled(
    managed: Managed,
) -> None:
    brand = BRANDS[0]
    async with managed.running():
        await search_for(managed, brand)
        await managed.say("brand-resolution", NO_MATCH, lookup=f"{brand}.1")
        await managed.event(SearchSettled)
    await managed.search("late", brand, f"{brand}.1")
    driver = Driver(
        Streams(managed.log),
        EmptyViews(),
        managed.clock,
        MemoryHeartbeats(managed.clock.monotonic),
        restart_work=False,
    )
    driving = asyncio.create_task(driver.run())

    settled = await managed.event(SearchSettled, 2)

    driving.cancel()
    await asyncio.gather(driving, return_exceptions=True)
    assert settled.search == "late"
