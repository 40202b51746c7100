"""The servers under a running cluster go away and come back; nobody starts a role again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.operating import operating
from system.cluster.spreading import SpreadingAsync

pytestmark = pytest.mark.slow

BRAND = "Miruvane"
FOUND = ["aroha.tamihana@miruvane.example"]
CALLERS = 8


@pytest.fixture
async def service(two_nodes: Cluster) -> AsyncIterator[Clustered]:
    """The shared cluster; none of its roles may have ended when the test has."""
    fresh = await asyncio.to_thread(Clustered.fresh, two_nodes)
    starts = {name: role.starts for name, role in two_nodes.roles.items()}
    yield fresh
    assert [name for name, role in two_nodes.roles.items() if not role.runs] == []
    assert {name: role.starts for name, role in two_nodes.roles.items()} == starts


def caller(cluster: Cluster, key: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        base_url=cluster.urls[0],
        transport=SpreadingAsync(list(cluster.ports.values())),
        headers={"Authorization": f"Bearer {key}"},
        timeout=130,
    )


async def new_keys(cluster: Cluster, number: int) -> list[str]:
    async with operating(cluster) as operated:
        return await operated.keys(number)


async def search(client: httpx.AsyncClient) -> dict[str, Any]:
    """Return the record of a search that has ended, made as a careful caller makes it."""
    named = {"Idempotency-Key": "the-only-one"}
    body = {"brand": BRAND, "wait": True}
    while True:
        answer = await client.post("/contacts", json=body, headers=named)
        if answer.status_code == httpx.codes.INTERNAL_SERVER_ERROR:
            assert "Retry-After" in answer.headers
        elif (record := answer.raise_for_status().json())["status"] != "running":
            ended: dict[str, Any] = record
            return ended


def emails(record: dict[str, Any]) -> list[str]:
    return [contact["email"] for contact in record["contacts"] if contact["email"]]


async def test_the_database_is_restarted_under_load(service: Clustered) -> None:
    cluster = service.cluster
    keys = await new_keys(cluster, CALLERS)
    statuses: Counter[int] = Counter()
    without_advice: list[httpx.Response] = []
    back = asyncio.Event()

    async def call(client: httpx.AsyncClient) -> None:
        while not back.is_set():
            answer = await client.get("/usage")
            statuses[answer.status_code] += 1
            if answer.status_code >= 500 and "Retry-After" not in answer.headers:
                without_advice.append(answer)
            if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                await back.wait()

    async with caller(cluster, keys[0]) as client:
        running = asyncio.create_task(search(client))
        clients = [caller(cluster, key) for key in keys[1:]]
        async with asyncio.TaskGroup() as tasks:
            for each in clients:
                tasks.create_task(call(each))
            await asyncio.to_thread(cluster.postgres.restart)
            record = await running
            back.set()
        after = [(await each.get("/usage")).status_code for each in clients]
        for each in clients:
            await each.aclose()
        usage = (await client.get("/usage")).json()

    assert set(statuses) <= {200, 429, 500}
    assert without_advice == []
    assert set(after) <= {200, 429}
    assert (record["status"], emails(record), usage["used"]) == ("done", FOUND, 1)


async def test_kafka_forgets_everything_in_the_middle_of_a_search(service: Clustered) -> None:
    cluster = service.cluster
    (key,) = await new_keys(cluster, 1)
    async with caller(cluster, key) as client:
        running = asyncio.create_task(search(client))
        while "brand.attempt-failed.v1" not in await service.topics():  # greylisted
            assert not running.done()

        await asyncio.to_thread(cluster.kafka.wipe)
        await asyncio.to_thread(cluster.command, "topics", "apply", "--replication=1")
        record = await running

    assert (record["status"], emails(record), record["usage"]["used"]) == ("done", FOUND, 1)
