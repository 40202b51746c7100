"""Our own time in a search: POST to done, time inside outside calls subtracted.

The sandbox answers at once, yet its answers take time too: what the sources and the
verifier were waited for is measured around them and taken off.  The baseline is the
same search answered from reuse, in the same run.

    PYTHONPATH=tests .venv/bin/python bench/own_time.py [SEARCHES]
"""

import asyncio
import statistics
import sys
import time
from typing import Any

import httpx

from cs.cli.sandbox_service import sandbox_service
from cs.domain.contact import Query
from cs.runtime import logs
from cs.sandbox.world import load
from system.embedded.waited_outside import Outside, timed

BRAND = "Veltrana"


async def main(searches: int) -> None:
    logs.configure("error")
    outside = Outside()

    live, own, reused = [], [], []
    async with (
        sandbox_service(load(None), around=lambda tools: timed(tools, outside)) as sandbox,
        httpx.AsyncClient(timeout=100) as client,
    ):

        async def search(key: str) -> dict[str, Any]:
            answer = await client.post(
                f"{sandbox.base_url}/contacts",
                json={"brand": BRAND, "wait": True},
                headers={"Authorization": f"Bearer {key}"},
            )
            body: dict[str, Any] = answer.raise_for_status().json()
            return body

        for _ in range(searches):
            key = (await sandbox.operator.create_key("bench", 10)).key
            await sandbox.operator.forget_brand(Query(BRAND))
            outside.total, began = 0.0, time.perf_counter()
            body = await search(key)
            took = time.perf_counter() - began
            assert (body["status"], body["cached"]) == ("done", False), body
            live.append(took * 1000)
            own.append((took - outside.total) * 1000)
            began = time.perf_counter()
            assert (await search(key))["cached"]
            reused.append((time.perf_counter() - began) * 1000)
    base = statistics.median(reused)
    print(f"{searches} live searches of {BRAND}, ms (p50 / p95, and p50 against reuse)")
    for name, times in (("POST to done", live), ("our own time", own), ("from reuse", reused)):
        p50, p95 = statistics.median(times), sorted(times)[int(len(times) * 0.95)]
        print(f"{name:<14}{p50:8.1f} / {p95:6.1f}   {p50 / base:5.1f}x")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
