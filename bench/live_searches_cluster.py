"""Live searches through every role and one broker: how many a second, and what each role takes.

    PYTHONPATH=tests .venv/bin/python bench/live_searches_cluster.py [SEARCHES] [--rounds N]
        [--json]

One role of every kind on Kafka and PostgreSQL, all on this machine, with the world of
`bench/live_searches.py`, a process too.  Every search is a new brand, held (``wait``) over 16
connections; a round warms up with 16.  ``cpu_ms`` is the processor time of a search in each
role, ``python`` the sum of them; those of PostgreSQL, the broker and the world are shown too.
"""

import argparse
import asyncio
import json
import os
import statistics
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from harness.api_keys import operating
from http_load import CONNECTIONS, Took, load
from live_searches import OF_A_KEY, brands, cpu_s, searches, write_world
from system.cluster.cluster import Cluster, running_cluster


class Round(NamedTuple):
    """What the searches of a round took, and the processor time of each part of it, s."""

    took: Took
    spent_s: Mapping[str, float]


def children_of(pid: int) -> list[int]:
    """Return *pid* and all the processes that it, and those, have started."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def spent_s(cluster: Cluster) -> dict[str, float]:
    """Return the processor time of each role, server and the world until now."""
    kinds = {name.rpartition("-")[0] for name in cluster.roles}
    pids = {kind: [role.pid for role in cluster.of(kind)] for kind in kinds}
    pids["world"] = [cluster.world.pid]
    here = set(children_of(os.getpid()))
    pids["postgres"] = [pid for pid in here if _command(pid).startswith("postgres")]
    pids["broker"] = [pid for pid in here if _command(pid).startswith("java")]
    return {name: sum(map(cpu_s, of)) for name, of in pids.items()}


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text()


async def one_round(cluster: Cluster, names: list[str]) -> Round:
    number = -(-len(names) // OF_A_KEY) + CONNECTIONS
    async with operating(cluster.environment) as operator:
        keys = [(await operator.create_key("bench", 100)).key for _ in range(number)]
    calls = searches(names, keys)
    url = cluster.urls[0].removesuffix("/v1")
    await load(url, calls[:CONNECTIONS], 200)
    before = spent_s(cluster)
    took = await load(url, calls[CONNECTIONS:], 200)
    after = spent_s(cluster)
    return Round(took, {name: after[name] - before.get(name, 0.0) for name in after})


def figures(rounds: list[Round]) -> dict[str, Any]:
    """Return the medians of *rounds*: a second, ms of a search, and ms of it in each part."""
    others = ("world", "postgres", "broker")
    each = {
        name: statistics.median(
            one.spent_s[name] / len(one.took.times_s) * 1000 for one in rounds
        )
        for name in rounds[0].spent_s
    }
    python = sum(value for name, value in each.items() if name not in others)
    return {
        "per_s": round(statistics.median(one.took.per_s for one in rounds), 1),
        "p50_ms": round(statistics.median(one.took.quantile_ms(0.5) for one in rounds), 1),
        "p95_ms": round(statistics.median(one.took.quantile_ms(0.95) for one in rounds), 1),
        "cpu_ms": {name: round(value, 1) for name, value in each.items()}
        | {"python": round(python, 1)},
    }


def main(number: int, rounds: int) -> dict[str, Any]:
    size = CONNECTIONS + number
    names = brands(size * rounds)
    with tempfile.TemporaryDirectory() as made:
        world = write_world(Path(made) / "world.json", names)
        with running_cluster(world=world) as cluster:
            done = [
                asyncio.run(one_round(cluster, names[turn * size : (turn + 1) * size]))
                for turn in range(rounds)
            ]
    load_1m = round(os.getloadavg()[0], 1)
    run = {"searches": number, "rounds": rounds, "load_1m": load_1m}
    return {**run, **figures(done)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", nargs="?", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    row = main(given.searches, given.rounds)
    if given.json:
        print(json.dumps(row))
    else:
        print(f"{row['searches']} live searches, {row['rounds']} rounds; load {row['load_1m']}")
        print(f"{row['per_s']}/s   p50 {row['p50_ms']} ms   p95 {row['p95_ms']} ms")
        for name, value in sorted(row["cpu_ms"].items(), key=lambda each: -each[1]):
            print(f"{name:<24}{value:7.1f} ms CPU a search")
