"""One key's list of brands does not keep the search of another waiting."""

import asyncio

import pytest
from msgspec.structs import replace

from cs.assembly.one_process import memory_bus
from cs.bus.topics import STAGE_TOPICS
from cs.domain.brand.events import ContactsDiscovered
from cs.domain.key import IN_FLIGHT, SearchAdmitted
from cs.metrics.metrics import Metrics
from system.overload import http_service
from system.overload.http_service import ALLOWED, OverHttp, over_http

STAGE = "contact-discovery"
LIST = [f"slow {n}" for n in range(300)]


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each stage work on one lookup at a time, as if all other places were taken."""
    monkeypatch.setattr("cs.pipeline.runner.MAX_IN_FLIGHT", 1)
    monkeypatch.setattr(http_service, "BRANDS", ("acme", *LIST, "single"))


@pytest.mark.usefixtures("busy")
async def test_a_single_search_is_next_after_the_lookup_of_a_list_that_is_in_hand() -> None:
    metrics = Metrics()
    bus, allowed = memory_bus(metrics=metrics), replace(ALLOWED, lookup_deadline_s=600)
    async with over_http(bus=bus, allowed=allowed) as over:
        lister, other = await over.keys(2)
        posted = await asyncio.gather(*(over.post(lister, brand) for brand in LIST))
        running = [each for each in posted if each.status_code == 202]
        async with asyncio.timeout(20):
            await over.staff.asked.wait()

        def waiting() -> float:
            return metrics.bus_waiting.read()[STAGE_TOPICS[STAGE], STAGE]

        await over.until(lambda: waiting() == 1)
        single = await over.post(other, "single")
        await over.until(lambda: waiting() == 2)
        over.staff.let.set()
        for each in (single, *running):
            assert (await over.ended(each))["status"] == "done"
        keys = await discovered_by_key(over)

    assert len(running) == IN_FLIGHT, "whatever a list asks for, two of its brands run"
    assert {each.status_code for each in posted} == {202, 429}
    assert keys[:3] == [lister.id, other.id, lister.id]


async def discovered_by_key(over: OverHttp) -> list[str]:
    """Return whose lookups had their people found, in the order of the log."""
    events = await over.service.streams.log.tail(0)
    keys = {
        each.event.lookup: each.stream.removeprefix("key-")
        for each in events
        if isinstance(each.event, SearchAdmitted)
    }
    return [keys[e.event.lookup] for e in events if isinstance(e.event, ContactsDiscovered)]
