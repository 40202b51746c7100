"""A thousand races of sixteen calls over two nodes: each limit holds to the unit in all.

    PYTHONPATH=tests .venv/bin/python bench/cluster_races.py [ROUNDS]

Two nodes of the API (two more with a ceiling) on a PostgreSQL of their own; no stage runs, so
that nothing but the race decides.  Ends with exit code 1 if a round came to anything else.
"""

import asyncio
import sys
import time
from collections import Counter

from system.cluster.cluster import Cluster
from system.cluster.racing import RACERS, Race, Round, expected, racing, rounds, running_nodes

RACES: dict[str, Round] = {
    "the last unit of quota": Race.for_the_last_unit,
    "2 places in flight": Race.for_places_in_flight,
    "6 a minute": Race.for_a_minute,
    "the last 3 of 60 a day": Race.for_a_day,
    "a ceiling of 1 a day": Race.for_the_ceiling,
    "120 checks a minute (150 calls)": Race.for_checks,
}


async def main(race: Race, number: int) -> int:
    wrong = 0
    for what, run in RACES.items():
        began, bad = time.perf_counter(), Counter[str]()
        fewer = run is Race.for_checks
        for came_to in await rounds(race, run, max(1, number // 10) if fewer else number):
            if came_to != expected(run.__name__):
                bad[str(dict(came_to))] += 1
        wrong += bad.total()
        _print(what, bad, time.perf_counter() - began)
    began, bad = time.perf_counter(), Counter[str]()
    for answers in await rounds(race, Race.for_one_idempotency_key, number):
        if list(answers.values()) != [RACERS]:
            bad[str(sorted(answers.values()))] += 1
    _print("one idempotency key", bad, time.perf_counter() - began)
    return wrong + bad.total()


def _print(what: str, bad: Counter[str], took_s: float) -> None:
    print(f"{what:<32} wrong rounds {bad.total()} in {took_s:.0f} s", *bad.items(), flush=True)


async def all_races(nodes: Cluster, number: int) -> int:
    async with racing(nodes) as race:
        print(f"{number} rounds (checks: a tenth), {RACERS} calls at once over 2 nodes")
        return await main(race, number)


if __name__ == "__main__":
    with running_nodes() as nodes:
        wrong = asyncio.run(all_races(nodes, int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
    sys.exit(bool(wrong))
