"""A service on a log that was written while the machine's clock was ahead."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from api.away import LONG
from cs.domain.rate_limits import PER_MINUTE
from harness.in_process import Service, in_memory
from harness.manual_clock import ManualClock
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import tools

AT = datetime(2026, 11, 23, 12, tzinfo=UTC)
AHEAD = timedelta(days=30)
BRANDS = [f"Brand {number}" for number in range(3 * PER_MINUTE)]


class Data:
    """What the services of a test run on, one after the other."""

    def __init__(self) -> None:
        self._keys = MemoryKeyStore()
        self._log = MemoryEventLog(self._keys)

    @asynccontextmanager
    async def served(self, clock: ManualClock) -> AsyncIterator[Service]:
        async with in_memory(tools(), clock=clock, log=self._log, keys=self._keys) as service:
            service.running.api.time_limits = LONG
            yield service


async def searched(service: Service, key: Any, brands: list[str]) -> list[httpx.Response]:
    return [await service.search(key, brand=brand) for brand in brands]


@pytest.mark.parametrize("ahead", [AHEAD, timedelta(minutes=10)], ids=str)
async def test_a_key_is_not_locked_until_the_time_catches_up(ahead: timedelta) -> None:
    data, clock = Data(), ManualClock(AT)
    async with data.served(ManualClock(AT + ahead)) as before:
        key = await before.new_key(quota=100)
        found = (await before.search(key, brand="Acme")).json()
        missed = await searched(before, key, BRANDS[:PER_MINUTE])

    async with data.served(clock) as service:
        with capture_logs() as lines:
            ready, health = await service.running.ready.check()
            await service.running.ready.check()
        again = (await service.search(key, brand="Acme")).json()
        answers = await searched(service, key, BRANDS[PER_MINUTE : 2 * PER_MINUTE])
        clock.set(AT + timedelta(seconds=int(answers[-1].headers["Retry-After"])))
        later = await searched(service, key, BRANDS[2 * PER_MINUTE :])
        async with service.client(key) as client:
            checks = [await client.get("/usage") for _ in range(120)]
        full = await service.search(key, brand="Acme")

    assert found["status"] == again["status"] == "done"
    assert not again["cached"], "nobody knows how old it is"
    assert [each.status_code for each in missed] == [200] * (PER_MINUTE - 1) + [429]
    assert [each.status_code for each in answers] == [200] * (PER_MINUTE - 1) + [429]
    assert [each.status_code for each in later] == [200] * PER_MINUTE
    assert {each.status_code for each in checks} == {200}
    assert (full.status_code, int(full.headers["Retry-After"]) <= 60) == (429, True)
    assert (ready, health["events_ahead_s"]) == (True, ahead.total_seconds())
    (line,) = [line for line in lines if line["event"] == "events_ahead_of_clock"]
    assert (line["log_level"], line["seconds"]) == ("warning", ahead.total_seconds())
