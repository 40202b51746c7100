"""Every search of the bundled world, through every role, ends as the world intends."""

import asyncio

import httpx
import pytest

from cs.sandbox.world import listing, load
from harness.world_proof import SearchProof, asking_the_silent, prove_search
from system.cluster.cluster import Cluster
from system.cluster.clustered import ERASED_FROM, Clustered
from system.cluster.operating import operating
from system.cluster.spreading import SpreadingAsync

pytestmark = pytest.mark.slow

#: How far the clock is moved at once; the service takes it in steps of its own.
MOVE_S = 20
#: Searches begun before the others wait for what these can do without the clock.  With all
#: at once a slow machine keeps the world's servers from answering in real time.
AT_ONCE = 25


async def test_the_bundled_world_ends_as_it_intends_past_every_wait(two_nodes: Cluster) -> None:
    """The clock is moved; what rests on silence goes by real time, and is left out."""
    clustered = await asyncio.to_thread(Clustered.fresh, two_nodes)
    world = load(None)
    silent = asking_the_silent(world)
    rows = [
        (row, way)
        for row in listing(world)
        if row.domain not in silent and row.brand != ERASED_FROM
        for way in row.asked_by
    ]
    async with (
        operating(two_nodes) as operated,
        httpx.AsyncClient(timeout=100) as admin,
        httpx.AsyncClient(
            base_url=clustered.base_url,
            transport=SpreadingAsync(list(two_nodes.ports.values())),
            timeout=200,
        ) as client,
    ):
        searches: list[asyncio.Future[SearchProof]] = []
        for start in range(0, len(rows), AT_ONCE):
            searches += [
                asyncio.ensure_future(
                    prove_search(client, operated.operator, operated.clock, row, way)
                )
                for row, way in rows[start : start + AT_ONCE]
            ]
            while (await clustered.topics()).count("key.search-admitted.v1") < len(searches):
                await asyncio.wait(searches, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
            answer = await admin.post(clustered.clock_url, json={"advance": 1})
            answer.raise_for_status()
        while not all(search.done() for search in searches):
            answer = await admin.post(clustered.clock_url, json={"advance": MOVE_S})
            answer.raise_for_status()
            await asyncio.wait(searches, timeout=0.1)
        proved = [search.result() for search in searches]

    assert [row for row in proved if row.differs] == []
    assert {row.intended for row in proved} == {
        "done",
        "no_linkedin",
        "no_contacts",
        "no_emails",
        "scrape_error",
        "error",
    }
    assert max(row.seconds for row in proved) > 85, "one outlasts the longest hold"
