"""What one node has answered, every other node knows: at once, and without the views."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from statistics import median

import httpx
import pytest

from system.cluster.cluster import Cluster
from system.cluster.clustered import Clustered
from system.cluster.operating import Operating, operating

pytestmark = pytest.mark.slow

BRAND = "Veltrana"
#: Two reads without the views, which nobody waits for: what they would be waited for at most.
WITHOUT_VIEWS_S = 4.0


@dataclass
class Nodes:
    """Callers of each node by itself."""

    operating: Operating
    clients: list[httpx.AsyncClient]

    async def check(self, key: str, turn: int) -> float:
        """Search by one node and read by the other; return the seconds the reads took."""
        here, there = self.clients[turn % 2], self.clients[(turn + 1) % 2]
        headers = {"Authorization": f"Bearer {key}"}
        answer = await here.post("/contacts", json={"brand": BRAND}, headers=headers)
        told = answer.raise_for_status().json()
        began = time.monotonic()
        read = await there.get(f"/searches/{told['id']}", headers=headers)
        usage = await there.get("/usage", headers=headers)
        took = time.monotonic() - began
        assert (read.status_code, read.json()) == (200, told)
        assert usage.json() == told["usage"]
        return took


@pytest.fixture
async def nodes(two_nodes: Cluster) -> AsyncIterator[Nodes]:
    """Both nodes, with an answer to reuse: every search of it is charged at once."""
    await asyncio.to_thread(Clustered.fresh, two_nodes)
    async with operating(two_nodes) as operated:
        clients = [httpx.AsyncClient(base_url=url, timeout=30) for url in two_nodes.urls]
        async with clients[0], clients[1]:
            (key,) = await operated.keys(1)
            body = {"brand": BRAND, "wait": True}
            headers = {"Authorization": f"Bearer {key}"}
            found = await clients[0].post("/contacts", json=body, headers=headers, timeout=100)
            assert found.json()["status"] == "done"
            yield Nodes(operated, clients)


async def test_reads_are_right_and_as_fast_while_the_views_stand_still(
    nodes: Nodes, two_nodes: Cluster
) -> None:
    keys = await nodes.operating.keys(4)
    for key in keys:
        await nodes.check(key, 0)  # both nodes have heard of it
    (project,) = two_nodes.of("project")

    project.suspend()
    try:
        took = [await nodes.check(key, turn) for turn in (1, 2, 3) for key in keys]
    finally:
        project.resume()

    assert max(took) < WITHOUT_VIEWS_S
    assert median(took) < WITHOUT_VIEWS_S / 8, "nobody waited for the views"
