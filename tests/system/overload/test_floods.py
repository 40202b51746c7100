"""A caller that floods the service harms only itself, and costs no database work."""

import asyncio
import os
from collections import Counter
from datetime import UTC, datetime

import httpx
import pytest
from msgspec.structs import replace

from cs.domain.api_key import make_key
from harness.manual_clock import ManualClock
from system.overload.http_service import ALLOWED, CountingLog, over_http

pytestmark = pytest.mark.slow

#: Calls of a key that may wait at once, unknown keys that are looked up, checks of a key.
MAX_WAITING_SEARCHES, READ_THROUGH_PER_S, CHECKS_PER_MINUTE = 60, 10, 120
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def codes(answers: list[httpx.Response]) -> Counter[int]:
    return Counter(answer.status_code for answer in answers)


@pytest.mark.parametrize("key", [None, "x" * 4000])
async def test_a_flood_without_a_key_reads_nothing_and_callers_are_served(
    key: str | None,
) -> None:
    log = CountingLog()
    async with over_http(log) as over:
        (valid,) = await over.keys(1)
        await over.get(valid)
        before = log.total
        first = await over.get(valid)
        one_call = log.total - before
        flood = [asyncio.create_task(over.get(key)) for _ in range(150)]

        served = await over.get(valid)
        answers = await asyncio.gather(*flood)

    assert codes(answers) == {401: 150}
    assert (first.status_code, served.status_code) == (200, 200)
    assert log.total - before == 2 * one_call


async def test_a_flood_of_well_formed_wrong_keys_reads_a_few_times_a_second() -> None:
    log = CountingLog()
    async with over_http(log, clock=ManualClock(NOW)) as over:
        (valid,) = await over.keys(1)
        assert (await over.get(valid)).status_code == 200
        before, began = log.total, asyncio.get_running_loop().time()

        answers = await asyncio.gather(
            *(over.get(make_key(os.urandom(24))) for _ in range(150))
        )
        reads, took_s = log.total - before, asyncio.get_running_loop().time() - began

        assert codes(answers) == {401: 150}
        assert 0 < reads <= READ_THROUGH_PER_S * took_s + 1
        assert (await over.get(valid)).status_code == 200


async def test_checks_beyond_the_minute_read_nothing() -> None:
    log = CountingLog()
    async with over_http(log, clock=ManualClock(NOW)) as over:
        greedy, other = await over.keys(2)
        first = await asyncio.gather(*(over.get(greedy) for _ in range(150)))
        before = log.total

        second = await asyncio.gather(*(over.get(greedy) for _ in range(100)))
        reads = log.total - before

        assert codes(first) == {200: CHECKS_PER_MINUTE, 429: 150 - CHECKS_PER_MINUTE}
        assert codes(second) == {429: 100}
        assert {answer.headers["Retry-After"] for answer in second} == {"60"}
        assert reads == 0
        assert (await over.get(other)).status_code == 200


async def test_one_key_that_floods_takes_a_few_places_and_the_others_are_served() -> None:
    """Its log is slow as well; still the other key's calls do not wait for it."""
    log = CountingLog()
    async with over_http(log, allowed=replace(ALLOWED, calls_per_key=2)) as over:
        greedy, other = await over.keys(2)
        await over.get(greedy)
        log.shut.add(f"key-{greedy.id}")
        reads = [asyncio.create_task(over.get(greedy)) for _ in range(60)]
        posts = [asyncio.create_task(over.post(greedy, "Acme")) for _ in range(100)]
        turned_away = 100 - MAX_WAITING_SEARCHES - 2
        await over.until(lambda: sum(call.done() for call in posts) == turned_away)

        assert (await over.post(other, "Acme", wait=True)).json()["status"] == "done"
        assert (await over.get(other)).status_code == 200
        assert log.most_at_the_door <= 4, "two reads, two searches"
        refused = [call.result() for call in posts if call.done()]
        assert codes(refused) == {429: turned_away}
        assert {answer.json()["error"]["code"] for answer in refused} == {"rate_limited"}
        assert {answer.headers["Retry-After"] for answer in refused} == {"61"}

        log.open.set()
        assert codes(await asyncio.gather(*reads)) == {200: 60}
        assert codes(await asyncio.gather(*posts)) == {200: 6, 429: 94}
