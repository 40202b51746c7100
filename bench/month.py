"""Memory of every role over a simulated month: is it flat?

    PYTHONPATH=tests .venv/bin/python bench/month.py [DAYS] [--cluster] [--json]

On a moved clock: every day sixteen brands are searched for the first time and asked for again,
and every search is read; then the clock is moved on by a day, and what is due in it happens.
`cs serve`, or with ``--cluster`` one role of every kind on Kafka and PostgreSQL, beside a world
in another process.  Told are MiB in use at the end of the day, in the second week, in the last
one, and what that grew by in percent.  The first week is left out: caches and allocators fill.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from api.http_load import call, load
from flatness import memory_mib
from harness.api_keys import new_keys
from live_searches import brands, searches, service, world_process, write_world
from system.cluster.cluster import running_cluster
from system.cluster.operating import operating

HERE = Path(__file__).parents[1]
A_DAY, OF_A_KEY = 16, 2
DAY_S = 86_400
WEEK = 7


async def days(
    url: str, clock_url: str, keys: Sequence[str], names: Sequence[str], pids: Mapping[str, int]
) -> dict[str, list[int]]:
    """Live through as many days as *names* are enough for; return the MiB of each by day."""
    found: dict[str, list[int]] = {name: [] for name in pids}
    async with httpx.AsyncClient(timeout=300) as client:
        for start in range(0, len(names), A_DAY):
            today = names[start : start + A_DAY]
            for _ in range(2):  # live, then from reuse
                await load(url, searches(today, keys), 200)
            usages = [call("GET", "/v1/usage", key) for key in keys]
            await load(url, usages * 10, 200)
            moved = await client.post(clock_url, json={"advance": DAY_S})
            moved.raise_for_status()
            for name, pid in pids.items():
                found[name].append(memory_mib(pid))
    return found


def in_one_process(names: Sequence[str]) -> dict[str, list[int]]:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        file = write_world(folder / "world.json", names)
        with (
            world_process(file, folder / "world") as (addresses, _),
            service(folder / "data", addresses, HERE) as at,
        ):
            keys = asyncio.run(new_keys(folder / "data", -(-A_DAY // OF_A_KEY), quota=100_000))
            url = at.base_url.removesuffix("/v1")
            return asyncio.run(days(url, at.clock_url, keys, names, {"serve": at.pid}))


def in_every_role(names: Sequence[str]) -> dict[str, list[int]]:
    async def run() -> dict[str, list[int]]:
        async with operating(cluster) as operated:
            keys = await operated.keys(-(-A_DAY // OF_A_KEY), quota=100_000)
        clock_url = f"{cluster.admin_url}/sandbox/clock"
        pids = {name: role.pid for name, role in cluster.roles.items()}
        return await days(cluster.urls[0].removesuffix("/v1"), clock_url, keys, names, pids)

    with tempfile.TemporaryDirectory() as made:
        file = write_world(Path(made) / "world.json", names)
        with running_cluster(world=file) as cluster:
            return asyncio.run(run())


def figures(found: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    rows = {}
    for name, each in found.items():
        second, last = median(each[WEEK : 2 * WEEK]), median(each[-WEEK:])
        grown = round((last / second - 1) * 100, 1)
        rows[name] = {
            "second_week_mib": second,
            "last_week_mib": last,
            "grown_percent": grown,
            "by_day": list(each),
        }
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("days", nargs="?", type=int, default=30)
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    all_names = brands(A_DAY * given.days)
    lived = in_every_role(all_names) if given.cluster else in_one_process(all_names)
    told = figures(lived)
    if given.json:
        print(json.dumps({"days": given.days, "searches_a_day": A_DAY, "rows": told}))
    else:
        for role, row in told.items():
            print(f"{role:<26}" + "   ".join(f"{k} {v}" for k, v in row.items()))
