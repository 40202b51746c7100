"""One stream that cannot be read stops no other, and is taken up once it is repaired."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from cs.domain.brand.events import LookupStarted, StageIssued
from cs.domain.causation import TimerCause
from cs.domain.key import SearchAdmitted
from harness.manual_clock import ManualClock
from harness.outside import ADA, SlowStaff, slow_tools
from system.damage.stores import DamagedStores, ended, is_damaged, position_of, read, serving

pytestmark = pytest.mark.slow

AT = datetime(2026, 1, 1, tzinfo=UTC)


async def test_a_damaged_key_stops_no_other_and_its_search_is_settled_once_repaired(
    stores: DamagedStores,
) -> None:
    staff = SlowStaff((ADA,))
    async with serving(stores, slow_tools(staff)) as service:
        hurt, other = await service.new_key(), await service.new_key()
        searches = [
            (await service.search(key, brand="Acme", wait=False)).json()["id"]
            for key in (hurt, other)
        ]
        await staff.asked.wait()
        position = await position_of(service.running.streams.log, SearchAdmitted)
    whole = await stores.replace(position, b"\xff\xfe")
    staff.let.set()

    for is_last in (False, True):  # a restart changes nothing
        async with serving(stores, slow_tools(staff)) as service:
            assert (await ended(service, other, searches[1]))["status"] == "done"
            assert (await service.search(other, brand="Acme")).json()["status"] == "done"
            ready, health = await service.running.ready.check()
            assert ready
            assert health["set_aside"] == [f"the event at position {position} cannot be read"]
            posted = await service.search(hurt, brand="Acme")
            assert "is damaged; nothing was charged" in posted.json()["error"]["message"]
            assert "Retry-After" not in posted.headers
            async with service.client(hurt) as client:
                usage = await client.get("/usage")
            for answer in (posted, usage, await read(service, hurt, searches[0])):
                assert is_damaged(answer)
                assert answer.json()["error"]["code"] == "server_error"
            if not is_last:
                continue

            await stores.replace(position, whole)

            assert (await ended(service, hurt, searches[0]))["usage"]["used"] == 1
            async with asyncio.timeout(20):
                while "set_aside" in (await service.running.ready.check())[1]:
                    await service.running.reading.keys()  # each look waits for the views
            again = await service.search(hurt, brand="Acme")
            assert (again.json()["status"], again.json()["usage"]["used"]) == ("done", 2)


@pytest.mark.parametrize("ends", ["done", "timeout"])
async def test_a_damaged_lookup_goes_on_once_repaired_or_ends_at_its_deadline(
    stores: DamagedStores, ends: str
) -> None:
    staff, clock = SlowStaff((ADA,)), ManualClock(AT)
    async with serving(stores, slow_tools(staff), clock) as service:
        key = await service.new_key()
        search = (await service.search(key, brand="Acme", wait=False)).json()["id"]
        await staff.asked.wait()
        position = await position_of(service.running.streams.log, LookupStarted)
    whole = await stores.replace(position, b"\xff")
    staff.let.set()

    async with serving(stores, slow_tools(staff), clock) as service:
        if ends == "timeout":
            clock.set(AT + timedelta(seconds=121))
        other = await service.search(await service.new_key(), brand="Slow")
        assert other.json()["status"] == "done"

        await stores.replace(position, whole)

        record = await ended(service, key, search)
        events = await service.running.streams.log.tail(0, 1_000)
    assert record.get("reason", record["status"]) == ends
    causes = [e.caused_by for e in events if isinstance(e.event, StageIssued)]
    assert TimerCause(timer="mended") in causes, "its open work was issued again"
