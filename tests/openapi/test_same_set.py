"""What the request schema has the running application takes, and nothing else (R8)."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.openapi_document import request_schema
from cs.operations.operator import NewSecret
from harness.in_process import Service, in_memory
from harness.outside import tools
from openapi.bodies import MUTATIONS, inside, outside

pytestmark = pytest.mark.slow
REQUEST = request_schema({"$ref": "#/components/schemas/ContactsRequest"})
#: One service answers every example; each call has a key of its own, so that no limit does.
one_service = settings(
    max_examples=3 * settings().max_examples // 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass
class Callers:
    """The service, and keys of it that were not used yet."""

    service: Service
    keys: list[NewSecret]

    async def post(self, body: Any) -> httpx.Response:
        async with self.service.client(self.keys.pop()) as client:
            return await client.post(
                "/contacts",
                content=json.dumps(body).encode(),
                headers={"Content-Type": "application/json"},
            )


@pytest.fixture
async def callers() -> AsyncIterator[Callers]:
    async with in_memory(tools()) as service:
        keys = [await service.new_key() for _ in range(500)]
        async with service.client(keys[0]) as client:  # the newest are known from here on
            await client.get("/usage")
        yield Callers(service, keys)


@one_service
@given(body=inside())
async def test_every_body_of_the_schema_is_taken(callers: Callers, body: Any) -> None:
    assert REQUEST.is_valid(body)

    answer = await callers.post(body)

    assert answer.status_code in {200, 202}, answer.text


@pytest.mark.parametrize("mutation", MUTATIONS)
@settings(one_service, max_examples=settings().max_examples * 2 // 5)
@given(data=st.data())
async def test_every_body_that_is_changed_for_the_worse_is_refused(
    callers: Callers, mutation: str, data: st.DataObject
) -> None:
    body = data.draw(outside(mutation))
    assert not REQUEST.is_valid(body)

    answer = await callers.post(body)

    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "invalid_request"
