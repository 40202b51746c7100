"""Live searches: how many a second, and the processor time of each.

    PYTHONPATH=tests .venv/bin/python bench/live_searches.py [SEARCHES] [--against CHECKOUT]
        [--cluster] [--rounds N] [--json]

The service is `cs serve` on a data folder; with ``--cluster`` it is one role of every kind on
Kafka and PostgreSQL, all on this machine.  The outside world is a process of its own; its
brands are all alike (the bundled world's first: six people, four mailboxes, a mail server that
answers at once).  The callers are this process: nothing of theirs counts as the service's.

Every search is a new brand, held (``wait``) over 16 connections; every round warms up with 16,
and in one process is a service and a folder of its own.  With a checkout of another version,
the two take turns.  Shown are the medians of the rounds.  ``cpu_ms`` is the processor time for
a search, ``python`` that of the service, all its processes and threads, and depends little on
what else the machine does; ``per_s`` does.  ``world`` is the same of the world: on two cores it
takes its share of them.
"""

import asyncio
import json
import multiprocessing
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, islice, product
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import msgspec
import uvloop

from harness.api_keys import new_keys, operating
from harness.served import Served
from http_load import CONNECTIONS, Took, call, cpu_s, load
from shown import command, show
from system.cluster.cluster import Cluster, running_cluster
from system.faults.lasting_world import WorldClock, lasting_world

HERE = Path(__file__).parents[1]
MODEL = "Veltrana"
BUNDLED = HERE / "src/cs/sandbox/worlds/bundled.json"
#: Of one key: below 6 a minute and, since the callers take turns, 2 in flight.
OF_A_KEY = 5
#: Of made-up names.
SYLLABLES = ("ba", "co", "du", "fe", "gi", "ka", "lo", "mu", "ne", "po", "ri", "sa", "ta", "ve")


def brands(number: int) -> list[str]:
    """Return that many names of brands, no two of them alike."""
    made = ("".join(each).title() + "rana" for each in product(SYLLABLES, repeat=3))
    return list(islice(made, number))


def write_world(file: Path, names: Sequence[str], **more: Any) -> Path:
    """Write a world of brands of these *names*, all alike, and *more* of its fields."""
    bundled = json.loads(BUNDLED.read_text())
    model = json.dumps(next(each for each in bundled["brands"] if each["name"] == MODEL))

    def like(name: str) -> Any:
        renamed = model.replace(MODEL, name).replace(MODEL.lower(), name.lower())
        return json.loads(renamed)

    file.write_bytes(msgspec.json.encode({"brands": [like(name) for name in names], **more}))
    return file


def searches(names: Sequence[str], keys: Sequence[str]) -> list[bytes]:
    return [
        call("POST", "/v1/contacts", key, json.dumps({"brand": name, "wait": True}).encode())
        for name, key in zip(names, cycle(keys), strict=False)
    ]


def keys_for(names: Sequence[str]) -> int:
    """Return how many keys search for *names* without meeting a limit."""
    return -(-len(names) // OF_A_KEY) + CONNECTIONS


def service(folder: Path, addresses: Path, checkout: Path) -> Served:
    """Return the service of *checkout*, for a ``with``, in the world at *addresses*."""
    searched = (
        str(checkout / "src"),
        str(checkout / "tests"),
        os.environ.get("PYTHONPATH", ""),
    )
    of_checkout = os.pathsep.join(filter(None, searched))
    at = Served(folder, settings={"CS_LOG_LEVEL": "error", "PYTHONPATH": of_checkout})
    at.module = "system.faults.lasting_world"
    at.words = (str(addresses), *at.where)
    return at


@contextmanager
def world_process(world: Path, folder: Path) -> Iterator[tuple[Path, int]]:
    """Run *world* as a process; yield the file that says where it is, and the process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run_world, args=(world, folder, theirs), daemon=True)
    process.start()
    assert process.pid is not None
    try:
        yield ours.recv(), process.pid
    finally:
        ours.close()
        process.join()


def _run_world(world: Path, folder: Path, ours: Connection) -> None:
    def wait_for_end() -> None:
        with suppress(EOFError):
            ours.recv()

    async def run() -> None:
        async with lasting_world(world, folder, WorldClock()) as addresses:
            ours.send(addresses)
            await asyncio.to_thread(wait_for_end)

    uvloop.run(run())


class Round(NamedTuple):
    """What the searches of a round took, and the processor time of each part of it, s."""

    took: Took
    spent_s: Mapping[str, float]


async def one_round(
    url: str, names: Sequence[str], keys: Sequence[str], spent: Callable[[], dict[str, float]]
) -> Round:
    """Search for all *names*, the first of them to warm up; *spent* says what parts took."""
    calls = searches(names, keys)
    await load(url, calls[:CONNECTIONS])
    before = spent()
    took = await load(url, calls[CONNECTIONS:])
    return Round(took, {part: s - before.get(part, 0.0) for part, s in spent().items()})


async def one_process(
    checkout: Path, world: tuple[Path, int], folder: Path, names: Sequence[str]
) -> Round:
    addresses, world_pid = world
    with service(folder, addresses, checkout) as at:
        keys = await new_keys(folder, keys_for(names))
        url = at.base_url.removesuffix("/v1")
        pids = {"python": at.pid, "world": world_pid}
        return await one_round(url, names, keys, lambda: {k: cpu_s(v) for k, v in pids.items()})


async def in_cluster(cluster: Cluster, names: Sequence[str]) -> Round:
    async with operating(cluster.environment) as operator:
        made = [await operator.create_key("bench", 100) for _ in range(keys_for(names))]
        keys = [each.key for each in made]
    url = cluster.urls[0].removesuffix("/v1")
    return await one_round(url, names, keys, lambda: spent_s(cluster))


def spent_s(cluster: Cluster) -> dict[str, float]:
    """Return the processor time of each role, all roles, servers and the world until now."""
    found = defaultdict[str, float](float)
    for name, role in cluster.roles.items():
        found[name.rpartition("-")[0]] += cpu_s(role.pid)
    found["python"] = sum(found.values())
    found["world"] = cpu_s(cluster.world.pid)
    for pid in set(children_of(os.getpid())):
        command = Path(f"/proc/{pid}/comm").read_text()
        for server in ("postgres", "java"):
            if command.startswith(server):
                found[server] += cpu_s(pid)
    return found


def children_of(pid: int) -> list[int]:
    """Return *pid* and all the processes that it, and those, have started."""
    found = [pid]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def result(measured: Mapping[str, Sequence[Round]]) -> dict[str, Any]:
    """Return the medians of the rounds of each version, and ms of a search in each part."""
    of_search = {
        name: {
            part: round(
                median(one.spent_s[part] / len(one.took.times_s) * 1000 for one in rounds), 1
            )
            for part in rounds[0].spent_s
        }
        for name, rounds in measured.items()
    }
    return {
        "load_1m": round(os.getloadavg()[0], 1),
        "rows": {
            name: {
                "per_s": round(median(one.took.per_s for one in rounds), 1),
                "p50_ms": round(median(one.took.quantile_ms(0.5) for one in rounds), 1),
                "p95_ms": round(median(one.took.quantile_ms(0.95) for one in rounds), 1),
            }
            for name, rounds in measured.items()
        },
        "cpu_ms": {
            part: {name: each[part] for name, each in of_search.items()}
            for part in of_search["ours"]
        },
    }


async def processes(number: int, rounds: int, against: Path | None) -> dict[str, Any]:
    names = brands(CONNECTIONS + number)
    checkouts = {"ours": HERE} | ({"other": against} if against else {})
    measured: dict[str, list[Round]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        file = write_world(folder / "world.json", names)
        with world_process(file, folder / "world") as world:
            for turn in range(rounds):
                for name, checkout in checkouts.items():
                    data = folder / f"{name}-{turn}"
                    measured[name].append(await one_process(checkout, world, data, names))
    return result(measured)


def roles(number: int, rounds: int) -> dict[str, Any]:
    size = CONNECTIONS + number
    names = brands(size * rounds)
    with tempfile.TemporaryDirectory() as made:
        world = write_world(Path(made) / "world.json", names)
        with running_cluster(world=world) as cluster:
            done = [
                asyncio.run(in_cluster(cluster, names[turn * size : (turn + 1) * size]))
                for turn in range(rounds)
            ]
    return result({"ours": done})


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("searches", nargs="?", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--against", type=Path)
    which.add_argument("--cluster", action="store_true")
    given = parser.parse_args()
    if given.cluster:
        found = roles(given.searches, given.rounds)
    else:
        found = asyncio.run(processes(given.searches, given.rounds, given.against))
    show(found, as_json=given.json)
