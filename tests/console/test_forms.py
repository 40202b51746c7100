"""Forms that are sent twice, and live pages: each act is done once, a secret shown once."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from html import unescape

import httpx
import pytest

from cs.domain.api_key import hash_key
from cs.domain.key import Key
from cs.domain.operator_actions import act_of
from cs.eventlog.port import NO_STREAM, LogUnavailable
from cs.projections.searches import instant
from harness.in_process import Service, in_memory
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog
from harness.outside import tools

#: As a browser asks for what a live page shows from now on.
LIVE = {"Accept": "text/event-stream"}


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    async with in_memory(tools(), console=True) as running:
        yield running


async def test_a_form_that_is_sent_twice_at_the_same_time_acts_once(service: Service) -> None:
    key = await service.operator.create_key("forms", 3)
    async with service.console() as client:
        page = (await client.get(f"/keys/{key.id}")).text
        form = {"csrf": re.findall(r'name="csrf" value="(\w+)"', page)[0], "once": "one"}

        async def send(act: str, **fields: str) -> list[httpx.Response]:
            where, sent = f"/keys/{key.id}/{act}", form | fields
            async with service.running.streams.lock(f"key-{key.id}"):
                both = [asyncio.create_task(client.post(where, data=sent)) for _ in "12"]
                for _ in range(100):  # so that each has come as far as it can
                    await asyncio.sleep(0)
            return await asyncio.gather(*both)

        granted = await send("grant", units="4")
        rotated = await send("rotate")

    assert ["The quota is 7 now" in each.text for each in granted] == [True, True]
    secrets = [re.findall(r"cs_(?:live|test)_\w+", each.text) for each in rotated]
    assert sorted(map(len, secrets)) == [0, 1], "a secret is shown once, and is not kept"
    assert sum("was shown once" in each.text for each in rotated) == 1


async def test_a_key_is_limited_and_rotated_with_an_overlap_under_the_operators_name(
    service: Service,
) -> None:
    key = await service.operator.create_key("limits", 3)
    async with service.console() as client:

        async def sent(act: str, **fields: str) -> httpx.Response:
            return await client.post(f"/keys/{key.id}/{act}", data=fields)

        page = (await client.get(f"/keys/{key.id}")).text
        token = {"csrf": re.findall(r'name="csrf" value="(\w+)"', page)[0]}
        limits = {"per_minute": "2", "per_day": "20"}
        refused = [
            await sent("limit", **limits),
            await sent("limit", **token, per_minute="two", per_day="20"),
            await sent("limit", **token, per_minute="7", per_day="20"),
            await sent("rotate", **token, overlap="30 days"),
        ]
        limited = await sent("limit", **token, **limits)
        rotated = await sent("rotate", **token, overlap="1 hour")
        after = unescape((await client.get(f"/keys/{key.id}")).text)
    state: Key = (await service.running.streams.key(key.id)).state
    events = await service.running.streams.log.read(f"key-{key.id}", NO_STREAM)
    acts = [act for each in events if (act := act_of(each.stream, each.event))]

    assert [each.status_code for each in refused] == [403, 400, 409, 400]
    assert "2 searches a minute, 20 a day now" in limited.text
    assert "To undo it, set 6 searches a minute, 60 a day." in limited.text
    assert "<dd>2 searches a minute, 20 a day</dd>" in after
    assert '<input name="per_minute" value="2"' in after
    assert (state.per_minute, state.per_day) == (2, 20)
    assert state.old_until is not None
    assert state.opened_by(hash_key(key.key), datetime.now(UTC) + timedelta(minutes=50))
    assert not state.opened_by(hash_key(key.key), datetime.now(UTC) + timedelta(minutes=70))
    assert f"The old secret works until {instant(state.old_until)}" in rotated.text
    assert [(act.what, act.by) for act in acts[1:]] == [
        ("key_limited", "sandbox"),
        ("key_rotated", "sandbox"),
    ]


class LogThatGoes(MemoryEventLog):
    """The log in memory, which cannot be reached while it is *away*."""

    away = False

    async def head(self) -> int:
        if self.away:
            raise LogUnavailable("away")
        return await super().head()


async def test_a_live_page_ends_if_the_log_is_away() -> None:
    keys = MemoryKeyStore()
    log = LogThatGoes(keys)
    async with (
        in_memory(tools(), keys=keys, log=log, console=True) as service,
        service.console() as client,
    ):
        log.away = True
        try:
            answer = await client.get("/", headers=LIVE)
        finally:
            log.away = False

    assert (answer.status_code, answer.content) == (200, b"")


async def test_no_burst_of_live_pages_passes_their_bound(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cs.console.app.MAX_LIVE", 2)
    async with service.console() as client, asyncio.timeout(10):
        calls = [asyncio.create_task(client.get("/", headers=LIVE)) for _ in range(5)]
        try:
            while sum(each.done() for each in calls) < 3:  # two are live
                await asyncio.wait(
                    [each for each in calls if not each.done()],
                    return_when=asyncio.FIRST_COMPLETED,
                )
            ended = [each.result().status_code for each in calls if each.done()]
        finally:
            for each in calls:
                each.cancel()

    assert ended == [200] * 3
