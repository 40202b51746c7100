"""Live searches of one process: how many a second, and its processor time for each.

    PYTHONPATH=tests .venv/bin/python bench/live_searches.py [SEARCHES] [--against CHECKOUT]
        [--rounds N] [--json]

The service is `cs serve` on a data folder.  The outside world is a process of its own; its
brands are all alike (the bundled world's first: six people, four mailboxes, a mail server that
answers at once).  The callers are this process: nothing of theirs counts as the service's.

Every search is a new brand, held (``wait``) over 16 connections; every round is a service and a
folder of its own, warmed by 16 searches.  With a checkout of another version, the two take
turns.  ``cpu_ms`` is the processor time of the service for a search, all its threads, and
depends little on what else the machine does; ``per_s`` does.  ``world_ms`` is the same of the
world: on two cores it takes its share of them.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle, islice, product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import uvloop

from harness.api_keys import new_keys
from harness.served import Served
from http_load import CONNECTIONS, Took, call, load
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


def write_world(file: Path, names: Sequence[str]) -> Path:
    bundled = json.loads(BUNDLED.read_text())
    model = json.dumps(next(each for each in bundled["brands"] if each["name"] == MODEL))

    def like(name: str) -> Any:
        renamed = model.replace(MODEL, name).replace(MODEL.lower(), name.lower())
        return json.loads(renamed)

    file.write_bytes(msgspec.json.encode({"brands": [like(name) for name in names]}))
    return file


def searches(names: Sequence[str], keys: Sequence[str]) -> list[bytes]:
    return [
        call("POST", "/v1/contacts", key, json.dumps({"brand": name, "wait": True}).encode())
        for name, key in zip(names, cycle(keys), strict=False)
    ]


def cpu_s(pid: int) -> float:
    """Return the processor time of all threads of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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
    """What the searches of a round took, and the processor time of it, s."""

    took: Took
    service_s: float
    world_s: float


async def one_round(
    checkout: Path, world: tuple[Path, int], folder: Path, names: Sequence[str]
) -> Round:
    addresses, world_pid = world
    with service(folder, addresses, checkout) as at:
        keys = await new_keys(folder, -(-len(names) // OF_A_KEY) + CONNECTIONS)
        calls = searches(names, keys)
        url = at.base_url.removesuffix("/v1")
        await load(url, calls[:CONNECTIONS], 200)
        service_s, world_s = cpu_s(at.pid), cpu_s(world_pid)
        took = await load(url, calls[CONNECTIONS:], 200)
        return Round(took, cpu_s(at.pid) - service_s, cpu_s(world_pid) - world_s)


def figures(rounds: Sequence[Round]) -> dict[str, Any]:
    """Return the median of all rounds, and the lowest and the highest."""
    each = {
        "per_s": [one.took.per_s for one in rounds],
        "cpu_ms": [one.service_s / len(one.took.times_s) * 1000 for one in rounds],
        "world_ms": [one.world_s / len(one.took.times_s) * 1000 for one in rounds],
        "p50_ms": [one.took.quantile_ms(0.5) for one in rounds],
        "p95_ms": [one.took.quantile_ms(0.95) for one in rounds],
    }
    return {
        name: [round(value, 1) for value in (statistics.median(all_), min(all_), max(all_))]
        for name, all_ in each.items()
    }


async def main(number: int, rounds: int, against: Path | None, *, as_json: bool) -> None:
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
                    measured[name].append(await one_round(checkout, world, data, names))
    rows = {name: figures(each) for name, each in measured.items()}
    load_1m = round(os.getloadavg()[0], 1)
    if as_json:
        print(json.dumps({"load_1m": load_1m, "searches": number, "rows": rows}))
        return
    print(f"{number} live searches, {rounds} rounds, {CONNECTIONS} at once; load {load_1m}")
    print("median (lowest to highest)")
    for name, row in rows.items():
        shown = (f"{key} {mid} ({low} to {high})" for key, (mid, low, high) in row.items())
        print(f"{name:<6}" + "   ".join(shown))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("searches", nargs="?", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    asyncio.run(main(given.searches, given.rounds, given.against, as_json=given.json))
