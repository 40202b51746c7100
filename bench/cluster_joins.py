"""400 keys want one brand at the same moment, over two nodes: nobody is refused.

    PYTHONPATH=tests .venv/bin/python bench/cluster_joins.py [ROUNDS]

Each round: a new brand for each key (the baseline), one new brand for all of them, and one
whose lookup runs already.  Ends with exit code 1 if a call was answered with anything but 202.
"""

import asyncio
import sys
import time
from collections import Counter
from itertools import count

from system.cluster.cluster import Cluster
from system.cluster.quick_calls import QuickCalls
from system.cluster.racing import Race, racing, running_nodes

JOINERS = 400


async def at_once(race: Race, brands: list[str]) -> tuple[Counter[str], float, float]:
    """Return what came of a search for each of *brands*, and p50 and p99 in ms."""
    keys = [key.key for key in await race.keys(len(brands))]
    answers = await asyncio.gather(
        *(_search(race.free, key, brand) for key, brand in zip(keys, brands, strict=True))
    )
    took = sorted(seconds for _, seconds in answers)
    told = Counter(told for told, _ in answers)
    return told, took[len(took) // 2] * 1000, took[len(took) * 99 // 100] * 1000


async def _search(calls: QuickCalls, key: str, brand: str) -> tuple[str, float]:
    """Return ``202``, or the error, and the seconds it took."""
    headers = {"Authorization": f"Bearer {key}", "Content_Type": "application/json"}
    began = time.perf_counter()
    answer = await calls.post("/v1/contacts", {"brand": brand}, **headers)
    return answer.told, time.perf_counter() - began


async def main(nodes: Cluster, rounds: int) -> int:
    numbers, wrong = count(), 0
    async with racing(nodes) as race:
        for _ in range(rounds):
            hot = f"Hot {next(numbers)}"
            for what, brands in (
                ("a new brand each", [f"Apart {next(numbers)}" for _ in range(JOINERS)]),
                ("one new brand", [hot] * JOINERS),
                ("one live brand", [hot] * JOINERS),
            ):
                told, p50, p99 = await at_once(race, brands)
                wrong += told.total() - told["202"]
                print(
                    f"{JOINERS} keys at once, {what}: p50 {p50:.0f} ms, p99 {p99:.0f} ms; "
                    f"{dict(told)}",
                    flush=True,
                )
    return wrong


if __name__ == "__main__":
    with running_nodes() as nodes:
        wrong = asyncio.run(main(nodes, int(sys.argv[1]) if len(sys.argv) > 1 else 3))
    sys.exit(bool(wrong))
