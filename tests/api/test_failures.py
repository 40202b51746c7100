"""Whatever goes wrong is answered in our shape, and never with less than has happened."""

import asyncio
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import timedelta

import httpx
import pytest

from api.away import SHORT, Fragile, How, fragile
from api.openapi_document import faults
from cs.api.errors import NO_HEADERS
from cs.api.keys import Keys
from cs.api.waiting import TIME_LIMITS, TimeLimits
from cs.domain.api_key import make_key
from cs.operations.operator import NewSecret
from cs.runtime.ids import random_id

pytestmark = pytest.mark.slow

WITH_KEY = {"Idempotency-Key": "once"}


async def posted(
    service: Fragile,
    key: NewSecret,
    *,
    wait: bool = False,
    headers: Mapping[str, str] = NO_HEADERS,
    time_limits: TimeLimits = TIME_LIMITS,
) -> httpx.Response:
    service.running.api.time_limits = time_limits
    service.running.api.hold = timedelta(seconds=0.1)
    body = {"brand": "Acme", "wait": wait}
    async with asyncio.timeout(20), service.client(key) as client:
        return await client.post("/contacts", json=body, headers=headers)


def told(answer: httpx.Response) -> str:
    """Return the message of *answer*, a whole 500 in our shape."""
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "server_error")
    assert len(answer.headers["X-Request-Id"]) == len(random_id("req_"))
    assert faults("post", "/contacts", answer) == []
    message: str = answer.json()["error"]["message"]
    return message


async def test_a_search_that_was_stored_is_reported_of_whatever_its_append_raised() -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission("stored", "breaks", readable=True)

        answer = await posted(service, key)
        service.log.come()

        assert answer.status_code == 202
        assert (await posted(service, key)).json()["id"] == answer.json()["id"]
        assert await service.admissions() == 1


@pytest.mark.parametrize(
    ("headers", "advice"),
    [(WITH_KEY, "with the same Idempotency-Key"), ({}, "read GET /usage")],
)
@pytest.mark.parametrize("how", ["hangs", "breaks"])
async def test_an_unknown_result_is_reported_with_how_not_to_pay_twice(
    headers: dict[str, str], advice: str, how: How
) -> None:
    async with fragile() as service:
        key = await service.new_key()
        service.log.go_at_admission("before", how, readable=True)

        message = told(await posted(service, key, headers=headers, time_limits=SHORT))
        service.log.come()

    assert message.startswith("it is not known whether this search was stored; ")
    assert advice in message
    assert "nothing was charged" not in message


async def test_what_breaks_before_a_search_may_be_stored_has_charged_nothing() -> None:
    async def breaks(secrets: AbstractSet[str]) -> dict[str, str]:
        raise ZeroDivisionError(f"nobody foresaw {len(secrets)}")

    async with fragile() as service:
        unheard = NewSecret(id="key", key=make_key(bytes(32)))
        service.running.api.keys = Keys(service.running.streams, breaks, breaks)

        message = told(await posted(service, unheard))

    assert "nothing was charged" in message
