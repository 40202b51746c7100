"""A service that leaves answers whoever it holds at once, from what it has in memory."""

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from api.away import How, fragile
from api.openapi_document import RESTARTING, faults
from cs.domain.api_key import hash_key
from system.overload.http_service import OverHttp, over_http

pytestmark = pytest.mark.slow

RUNNING = {"id", "status", "brand", "poll_url", "retry_after", "usage"}
ACME = {"brand": "Acme"}


def is_running(answer: httpx.Response, used: int = 0) -> bool:
    body = answer.json()
    assert (answer.status_code, set(body), body["status"]) == (202, RUNNING, "running")
    assert body["usage"]["used"] == used
    assert answer.headers["Connection"] == "close"
    return faults("post", "/contacts", answer) == []


async def held(over: OverHttp, keys: Sequence[Any]) -> list[asyncio.Task[httpx.Response]]:
    """Make a call on each of *keys* that is held."""
    before = over.service.api.held
    calls = [
        asyncio.create_task(over.post(key, f"slow {n}", wait=True))
        for n, key in enumerate(keys)
    ]
    await over.until(lambda: over.service.api.held == before + len(keys))
    return calls


async def test_a_held_call_is_answered_with_the_newest_usage_that_was_seen() -> None:
    async with over_http() as over:
        keys = await over.keys(1)
        (call,) = await held(over, keys)
        assert (await over.post(keys[0], "acme", wait=True)).json()["usage"]["used"] == 1

        over.service.api.draining.set()

        assert is_running(await call, used=1)


async def test_a_key_that_was_revoked_meanwhile_is_unauthorized() -> None:
    async with over_http() as over:
        revoked, other = await over.keys(2)
        calls = await held(over, [revoked, other])
        await over.operator.revoke_key(revoked.id)
        known = over.service.api.keys.known
        await over.until(lambda: known(hash_key(revoked.key)) is None)

        over.service.api.draining.set()
        answers = await asyncio.gather(*calls)

        assert answers[0].status_code == 401
        assert is_running(answers[1])


async def until_asked(client: httpx.AsyncClient, call: asyncio.Task[httpx.Response]) -> None:
    """Let *call* come as far as it comes: some other calls later it waits."""
    for _ in range(20):
        await client.get("/openapi.json")
    assert not call.done()


@pytest.mark.parametrize("how", ["fails", "hangs"])
async def test_a_held_call_is_answered_while_the_log_is_away(how: How) -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission("answered", how)
        async with asyncio.timeout(10):
            async with service.on_port(key) as client:
                body = ACME | {"wait": True}
                call = asyncio.create_task(client.post("/contacts", json=body))
                while not service.running.api.held:
                    await client.get("/openapi.json")
            answer = await call
        service.log.come()

    assert is_running(answer)


async def test_calls_that_the_log_never_answers_are_cut_off_in_our_shape() -> None:
    async with fragile() as service:
        key = await service.new_key()
        async with service.client(key) as near:
            assert (await near.get("/usage")).status_code == 200
        service.log.go("hangs")
        async with asyncio.timeout(10):
            async with service.on_port(key) as client:
                reading = asyncio.create_task(client.get("/usage"))
                asking = asyncio.create_task(client.post("/contacts", json=ACME))
                await until_asked(client, reading)
                await until_asked(client, asking)
            answers = [await reading, await asking]
        service.log.come()

    for answer in answers:
        assert answer.status_code == 500
        assert answer.headers["X-Request-Id"].startswith("req_")
        assert answer.headers["Connection"] == "close"
    assert faults("get", "/usage", answers[0]) == []
    assert faults("post", "/contacts", answers[1]) == []
    messages = [answer.json()["error"]["message"] for answer in answers]
    assert messages[0] == RESTARTING
    assert "it is not known" in messages[1]


async def test_a_stored_search_whose_answer_is_cut_off_is_reported_of() -> None:
    """A search from reuse, whose views say nothing any more."""
    async with fragile() as service:
        first, key = await service.new_key(), await service.new_key()
        assert (await service.search(first, brand="Acme")).json()["status"] == "done"
        service.views.locked = True
        async with asyncio.timeout(10):
            async with service.on_port(key) as client:
                call = asyncio.create_task(client.post("/contacts", json=ACME))
                while await service.admissions() != 2:
                    await client.get("/openapi.json")
            answer = await call
        service.views.locked = False

    assert is_running(answer, used=1)
