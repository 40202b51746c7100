"""Held calls at once: time, memory and threads of the serving process.

    PYTHONPATH=tests .venv/bin/python bench/holds.py [KEYS]

Each key holds two calls, the most it may.  The baseline is the same process idle.
"""

import asyncio
import re
import sys
import tempfile
import time
from pathlib import Path

import httpx

from harness.api_keys import new_keys
from harness.served import served

BRANDS = ("Miruvane", "Corvelune")


def status(process: int, name: str) -> int:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    assert found is not None
    return int(found[1])


async def measure(base_url: str, keys: list[str], process: int) -> tuple[float, int, int]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=base_url, timeout=100, limits=limits) as client:

        async def search(key: str, brand: str) -> None:
            headers = {"Authorization": f"Bearer {key}"}
            body = {"brand": brand, "wait": True}
            answer = await client.post("/contacts", json=body, headers=headers)
            assert answer.json()["status"] == "done", answer.text

        # The service hears of the newest key, and so of all: only few unknown ones are read up.
        newest = {"Authorization": f"Bearer {keys[-1]}"}
        (await client.get("/usage", headers=newest)).raise_for_status()

        began = time.perf_counter()
        calls = [asyncio.create_task(search(k, b)) for k in keys for b in BRANDS]
        memory = threads = 0
        while not all(call.done() for call in calls):
            await asyncio.wait(calls, timeout=0.05)
            memory = max(memory, status(process, "VmRSS"))
            threads = max(threads, status(process, "Threads"))
        for call in calls:
            call.result()
        return time.perf_counter() - began, memory, threads


def main(keys: int) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made) / "data"
        with served(folder) as service:
            secrets = asyncio.run(new_keys(folder, keys))
            idle = status(service.pid, "VmRSS")
            took, memory, threads = asyncio.run(measure(service.base_url, secrets, service.pid))
    print(f"{2 * keys} held calls over {keys} keys: all done in {took:.2f} s")
    print(f"memory {memory / 1024:.0f} MiB, idle {idle / 1024:.0f}: {memory / idle:.2f}x")
    print(f"threads {threads}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
