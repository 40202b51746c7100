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
import msgspec

BRANDS = ("Miruvane", "Corvelune")


def status(process: int, name: str) -> int:
    text = Path(f"/proc/{process}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+)", text, re.MULTILINE)
    assert found is not None
    return int(found[1])


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cs", *arguments]


async def measure(base_url: str, keys: list[str], process: int) -> tuple[float, int, int]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=base_url, timeout=100, limits=limits) as client:

        async def search(key: str, brand: str) -> None:
            headers = {"Authorization": f"Bearer {key}"}
            body = {"brand": brand, "wait": True}
            answer = await client.post("/contacts", json=body, headers=headers)
            assert answer.json()["status"] == "done", answer.text

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
        serve = command(
            "serve", "--sandbox", "--port=0", "--admin-port=0", f"--data-dir={folder}"
        )
        process = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stderr is not None
            base_url = process.stderr.readline().split()[1].rstrip(",")
            create = command("keys", "create", "--json", f"--data-dir={folder}")
            made = [
                msgspec.json.decode(subprocess.check_output(create))["key"] for _ in range(keys)
            ]
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
