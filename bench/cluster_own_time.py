"""Our own time in a search that goes through every role and Kafka: POST to done.

    PYTHONPATH=tests .venv/bin/python bench/cluster_own_time.py [SEARCHES] [--json]

What the stages wait for outside is taken off: the same search made by a service in one process
beside the same kind of world tells how long that is (`bench/own_time.py`), in the same run.
The baseline is the same search answered from reuse.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from cs.cli.sandbox_service import sandbox_service
from cs.domain.contact import Query
from cs.operations.operator import Operator
from cs.runtime import logs
from cs.sandbox.world import load
from system.cluster.cluster import Cluster
from system.cluster.fixtures import running_two_nodes
from system.cluster.operating import operating
from system.embedded.waited_outside import Outside, timed

BRAND = "Veltrana"
#: Searches before the first that counts.
WARM = 5


async def search(client: httpx.AsyncClient, key: str) -> tuple[float, dict[str, Any]]:
    """Return the ms that one search took, and its record."""
    headers = {"Authorization": f"Bearer {key}"}
    began = time.perf_counter()
    answer = await client.post(
        "/contacts", json={"brand": BRAND, "wait": True}, headers=headers
    )
    took = (time.perf_counter() - began) * 1000
    record: dict[str, Any] = answer.raise_for_status().json()
    assert record["status"] == "done", record
    return took, record


async def both(
    operator: Operator, client: httpx.AsyncClient, searches: int, outside: Outside | None = None
) -> tuple[list[float], list[float], list[float]]:
    """Return the ms of live searches, of what they waited for outside, and of reused ones."""
    live, away, reused = [], [], []
    for number in range(WARM + searches):
        key = (await operator.create_key("bench", 10)).key
        await operator.forget_brand(Query(BRAND))
        if outside is not None:
            outside.total = 0.0
        took, record = await search(client, key)
        assert not record["cached"]
        again, record = await search(client, key)
        assert record["cached"]
        if number >= WARM:
            live.append(took)
            away.append(outside.total * 1000 if outside is not None else 0.0)
            reused.append(again)
    return live, away, reused


async def embedded(searches: int) -> tuple[list[float], list[float], list[float]]:
    outside = Outside()
    async with (
        sandbox_service(load(None), around=lambda tools: timed(tools, outside)) as sandbox,
        httpx.AsyncClient(base_url=sandbox.base_url, timeout=100) as client,
    ):
        return await both(sandbox.operator, client, searches, outside)


async def clustered(
    cluster: Cluster, searches: int
) -> tuple[list[float], list[float], list[float]]:
    async with (
        operating(cluster) as operated,
        httpx.AsyncClient(base_url=cluster.urls[0], timeout=100) as client,
    ):
        return await both(operated.operator, client, searches)


def measured(searches: int) -> dict[str, list[float]]:
    """Return p50 and p95 of each kind of time, ms."""
    logs.configure("error")
    live, away, _ = asyncio.run(embedded(searches))
    outside = statistics.median(away)
    found = {"one process: POST to done": live, "one process: of it waiting outside": away}
    with running_two_nodes() as cluster:
        live, _, reused = asyncio.run(clustered(cluster, searches))
    found["every role: POST to done"] = live
    found["every role: our own time"] = [took - outside for took in live]
    found["every role: from reuse"] = reused
    return p50_and_p95(found)


def p50_and_p95(found: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the two of the times of each name, rounded to a tenth."""
    return {
        name: [
            round(statistics.median(times), 1),
            round(sorted(times)[len(times) * 95 // 100], 1),
        ]
        for name, times in found.items()
    }


def main(measured: Callable[[int], Mapping[str, Sequence[float]]], doc: str | None) -> None:
    """Measure as many searches as the command line says, and print p50 and p95 by name."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("searches", nargs="?", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measured(given.searches)
    load_1m = round(os.getloadavg()[0], 1)
    if given.json:
        print(json.dumps({"searches": given.searches, "load_1m": load_1m, **figures}))
    else:
        print(f"{given.searches} searches, load {load_1m}: p50 / p95, ms")
        for name, (p50, p95) in figures.items():
            print(f"{name:<52}{p50:8.1f} / {p95:6.1f}")


if __name__ == "__main__":
    main(measured, __doc__)
