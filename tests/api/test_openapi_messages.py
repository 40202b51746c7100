"""What the description shows as messages is what the service answers, each and no other."""

import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import httpx
from starlette.requests import Request

from api.failing import Unwritable
from api.openapi_document import DOCUMENT, faults
from cs.api.errors import cut_off
from cs.checks.checks import Check, MemoryChecks
from cs.eventlog.port import LogUnavailable
from cs.operations.operator import NewSecret
from harness.in_process import Service, in_memory
from harness.outside import tools

IDEMPOTENT = {"Idempotency-Key": "once"}
ACME = {"brand": "Acme"}


def shown(response: str) -> set[str]:
    """Return the messages of the examples of *response*, numbers of quota left out."""
    content = DOCUMENT["components"]["responses"][response]["content"]["application/json"]
    values = [example["value"]["error"]["message"] for example in content["examples"].values()]
    assert len(set(values)) == len(values), "one stands there twice"
    return {_any_quota(each) for each in values}


def told(answers: Iterable[httpx.Response]) -> set[str]:
    """Return the messages of *answers*, each as its call describes it."""
    for answer in answers:
        called = answer.request.url.path.removeprefix("/v1")
        path = "/searches/{id}" if called.startswith("/searches/") else called
        assert faults(answer.request.method.lower(), path, answer) == []
    return {_any_quota(answer.json()["error"]["message"]) for answer in answers}


def _any_quota(message: str) -> str:
    return re.sub(r"^all \d+ searches", "all searches", message)


async def post(service: Service, key: NewSecret, **sent: Any) -> httpx.Response:
    async with service.client(key) as client:
        return await client.post("/contacts", **{"json": ACME, **sent})


class Mistaken(MemoryChecks):
    """Counts checks with a mistake in it."""

    async def count(self, key_id: str, at: datetime) -> Check:
        raise RuntimeError(f"{key_id} at {at}")


async def test_every_failure_on_our_side() -> None:
    late = LogUnavailable("no answer within 5 s")
    late.__cause__ = TimeoutError()
    async with in_memory(tools()) as service:
        key = await service.new_key()
        readable = service.running.streams.log
        service.running.streams.log = Unwritable(readable, LogUnavailable("the disk is full"))
        away = await post(service, key)
        service.running.streams.log = Unwritable(readable, late)
        in_doubt = [await post(service, key, headers=IDEMPOTENT), await post(service, key)]
        service.running.api.checks = Mistaken()
        mistaken = await usage_with_a_mistake(service, key)
    answer = cut_off(Request({"type": "http", "headers": []}))
    restarting = httpx.Response(
        answer.status_code,
        content=bytes(answer.body),
        headers={**answer.headers, "X-Request-Id": away.headers["X-Request-Id"]},
        request=away.request,
    )

    anywhere = [away, mistaken, restarting]
    assert [each.status_code for each in [*anywhere, *in_doubt]] == [500] * 5
    assert told(anywhere) == shown("ServerError")
    assert told([*anywhere, *in_doubt]) == shown("SearchServerError")


async def usage_with_a_mistake(service: Service, key: NewSecret) -> httpx.Response:
    transport = httpx.ASGITransport(service.running.app, raise_app_exceptions=False)
    async with httpx.AsyncClient(
        transport=transport,
        base_url="http://service.test/v1",
        headers={"Authorization": f"Bearer {key.key}"},
    ) as client:
        return await client.get("/usage")
