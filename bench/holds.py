"""Held calls at once: time, memory and threads of the serving process.

    .venv/bin/python bench/holds.py [KEYS]

Each key holds two calls, the most it may.  The baseline is the same process idle.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from cs.assembly.folder_stores import open_folder
from cs.eventlog.streams import Streams
from cs.operations.operator import Operator
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder

BRANDS = ("Miruvane", "Corvelune")


def status(process: int, name: str) -> int:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    assert found is not None
    return int(found[1])


async def new_keys(folder: Path, count: int) -> list[str]:
    """Return *count* new keys, made beside the service as `cs keys create` makes one."""
    async with open_folder(DataFolder(folder, make=False)) as data:
        operator = Operator(Streams(data.log, data.snapshots), SystemClock())
        return [(await operator.create_key(f"hold-{n}", 10)).key for n in range(count)]


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
    with tempfile.TemporaryDirectory() as folder:
        serve = [
            *(sys.executable, "-m", "cs", "serve", "--sandbox"),
            *("--port=0", "--admin-port=0", f"--data-dir={folder}"),
        ]
        process = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            base_url = process.stderr.readline().split()[1].rstrip(",")
            made = asyncio.run(new_keys(Path(folder), keys))
            idle = status(process.pid, "VmRSS")
            took, memory, threads = asyncio.run(measure(base_url, made, process.pid))
        finally:
            process.terminate()
            process.communicate(timeout=30)
    print(f"{2 * keys} held calls over {keys} keys: all done in {took:.2f} s")
    print(f"memory {memory / 1024:.0f} MiB, idle {idle / 1024:.0f}: {memory / idle:.2f}x")
    print(f"threads {threads}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
