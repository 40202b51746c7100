"""Two hundred held calls at once, over a hundred keys."""

import asyncio
import threading

import httpx
import pytest

from cs.api.api import Api
from cs.cli.sandbox_service import sandbox_service
from cs.operations.operator import Operator
from cs.sandbox.world import load
from harness.many_calls import ManyCalls
from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.operating import operating
from system.cluster.spreading import SpreadingAsync

pytestmark = pytest.mark.slow


async def test_two_hundred_held_calls_over_a_hundred_keys_are_answered() -> None:
    async with (
        sandbox_service(load(None)) as sandbox,
        httpx.AsyncClient(
            transport=ManyCalls(), base_url=sandbox.base_url, timeout=100
        ) as client,
    ):
        calling = asyncio.create_task(all_are_answered(sandbox.operator, client))
        held, threads = await most_held(sandbox.service.api, calling)
        await calling

        assert held >= 100
        assert threads < 60


async def test_two_hundred_held_calls_over_two_nodes_are_answered(two_nodes: Cluster) -> None:
    await asyncio.to_thread(Clustered.fresh, two_nodes)
    transport = SpreadingAsync(list(two_nodes.ports.values()))
    async with (
        operating(two_nodes) as operated,
        httpx.AsyncClient(
            base_url=two_nodes.urls[0], timeout=100, transport=transport
        ) as client,
    ):
        await all_are_answered(operated.operator, client, may_retry=True)


async def all_are_answered(
    operator: Operator, client: httpx.AsyncClient, *, may_retry: bool = False
) -> None:
    """Make the calls and check their answers.

    Args:
        may_retry: Whether a call that was not admitted in five seconds is made again: ten
            processes on two busy cores may take longer.
    """
    keys = [(await operator.create_key("held", 5)).key for _ in range(100)]

    async def search(key: str, brand: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": brand}
        body = {"brand": brand, "wait": True}
        while True:
            answer = await client.post("/contacts", json=body, headers=headers)
            if not (may_retry and answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR):
                return answer
            assert "Retry-After" in answer.headers

    answers = await asyncio.gather(
        *(search(key, brand) for key in keys for brand in ("Miruvane", "Corvelune"))
    )

    assert {answer.status_code for answer in answers} == {200}
    records = [answer.json() for answer in answers]
    assert {(r["status"], r["charged"]) for r in records} == {("done", True)}
    assert len({r["id"] for r in records}) == 200
    emails = {r["brand"]: {c["email"] for c in r["contacts"]} - {None} for r in records}
    assert {brand: len(found) for brand, found in emails.items()} == {
        "Miruvane": 1,
        "Corvelune": 3,
    }
    usages = await asyncio.gather(
        *(client.get("/usage", headers={"Authorization": f"Bearer {k}"}) for k in keys)
    )
    assert {usage.json()["used"] for usage in usages} == {2}


async def most_held(api: Api, calling: asyncio.Task[None]) -> tuple[int, int]:
    """Return the most calls held at once, and the most threads, until *calling* is done."""
    held = threads = 0
    while not calling.done():
        await asyncio.wait([calling], timeout=0.02)
        held, threads = max(held, api.held), max(threads, threading.active_count())
    return held, threads
