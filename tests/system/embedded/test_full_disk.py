"""A disk that is full under the whole service: callers hear it, nothing is lost, it ends.

Run as a program this file is the service: no file of its process can be written.
"""

import asyncio
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from cli.command import ran
from harness.in_process import on_folder
from harness.outside import ADA, SlowStaff, slow_tools

pytestmark = pytest.mark.slow


def test_a_full_disk_is_reported_loses_nothing_and_the_service_recovers(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "data"
    service = subprocess.run(
        [sys.executable, __file__, str(folder)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert service.returncode == 0, service.stderr
    reported = json.loads(service.stdout.splitlines()[-1])

    assert reported["before"]["status"] == "done"
    for refused in reported["refused"]:
        assert refused["status"] == 500
        assert refused["body"]["error"]["code"] == "server_error"
        assert int(refused["retry_after"]) > 0
    assert reported["read_while_full"] == reported["before"]
    assert reported["usage_while_full"]["used"] == 1
    assert reported["running_while_full"]["status"] == "running"
    assert reported["ended_after"]["status"] == "done"
    assert [c["email"] for c in reported["ended_after"]["contacts"]] == ["ada.kern@acme.test"]
    assert reported["after"]["status"] == "done"
    assert reported["usage_after"]["used"] == 3
    assert "the disk is full or read-only, or has failed" in service.stdout
    here = ("--json", f"--data-dir={folder}")
    assert ran("log", "verify", *here).rows[-1]["violations"] == 0
    # Those that were answered; of the refused ones there is nothing.
    assert len(ran("searches", "list", *here).rows) == 3


async def _serve(folder: Path) -> dict[str, Any]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    staff = SlowStaff((ADA,))
    async with on_folder(folder, slow_tools(staff)) as service:
        key = await service.new_key()
        staff.let.set()
        before = (await service.search(key, brand="Acme")).json()
        staff.let.clear()
        staff.asked.clear()
        slow = (await service.search(key, brand="Slow", wait=False)).json()["id"]
        await staff.asked.wait()

        async with service.client(key) as client:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
            refused = [await service.search(key, brand=f"Brand {n}") for n in range(3)]
            staff.let.set()
            read = (await client.get(f"/searches/{before['id']}")).json()
            usage = (await client.get("/usage")).json()
            running = (await client.get(f"/searches/{slow}")).json()

            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            await service.running.reading.until_settled(slow)
            ended = (await client.get(f"/searches/{slow}")).json()
            after = (await service.search(key, brand="Acme")).json()
            usage_after = (await client.get("/usage")).json()
    return {
        "before": before,
        "refused": [_plain(answer) for answer in refused],
        "read_while_full": read,
        "usage_while_full": usage,
        "running_while_full": running,
        "ended_after": ended,
        "after": after,
        "usage_after": usage_after,
    }


def _plain(answer: httpx.Response) -> dict[str, Any]:
    return {
        "status": answer.status_code,
        "body": answer.json(),
        "retry_after": answer.headers["Retry-After"],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_serve(Path(sys.argv[1])))))  # noqa: T201
