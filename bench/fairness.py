"""Whether one key's list delays another key's single search, and what overload does.

    PYTHONPATH=tests .venv/bin/python bench/fairness.py [--seconds N] [--slots N] [--json]

Two processes of every role on Kafka and PostgreSQL, in the world of `bench/live_searches.py`,
where services and mail servers take their time.  A worker does few lookups at once (2 unless
given), and few may run in the service, so that little is needed to have too much.  Three loads,
each of which joins the ones before it after so many seconds (30 unless given):

* single: one key searches a new brand, and the next when the last is answered;
* list: a key works through new brands with our client, two at once.  A key may make 6 searches
  a minute, so before that another key goes on: at every moment one has its two at work;
* flood: keys, three times as many as lookups may run, each with one new brand at a time.

Who is refused as ``at_capacity`` asks again soon, and its time counts from the call that is
admitted.  Shown are the seconds to the answers, and their multiples of one lookup, which is the
median of the single searches alone; the share of calls that were refused; and without and with
the flood the memory of the largest process, and what waits most: messages of a group (Kafka's
lag), and events of a follower.
"""

import asyncio
import os
import re
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from cs.client import AsyncClient, AtCapacity, Patience
from cs.operations.operator import Operator
from few_slots import SLOTS
from harness.api_keys import operating
from live_searches import OF_A_KEY, brands, write_world
from many_keys import memory_mib
from shown import command, show
from system.cluster.cluster import KINDS, Cluster, running_cluster

NODES, BRANDS, WARM_S = 2, 1_500, 8.0
#: Lookups that may run, for each that the workers of a stage do at once; callers for each.
RUNNING_A_SLOT, CALLERS_A_LOOKUP = 2, 3
#: What a service, and each reply of a mail server, waits for.
LATENCY_S, REPLY_S = 0.3, 0.1
#: After a refusal: callers of the flood, and the single searches, so that there are some.
FLOOD_AGAIN_S, AGAIN_S = 2.0, 0.2
#: Between two looks at memory and lag.
LOOK_S = 3.0
FIGURE = re.compile(
    r"^cs_(bus_waiting_messages|follower_lag_events)\{.*\} (\S+)$", re.MULTILINE
)
NO_RETRIES = Patience(longest_s=0, tries=1)


class Loads:
    """What callers of *cluster* do until the time *ends_at*; each brand is searched once."""

    def __init__(self, cluster: Cluster, operator: Operator, names: Iterator[str]) -> None:
        self._nodes = cycle(cluster.urls)
        self._operator = operator
        self._names = names
        self.ends_at = 0.0  # of `time.perf_counter`
        self.refused = Counter[str]()
        self.took_s = defaultdict[str, list[float]](list)

    async def searches(self, load: str) -> None:
        """Search for one brand after the other."""
        while time.perf_counter() < self.ends_at:
            async with await self._client() as client:
                for name in islice(self._names, OF_A_KEY):
                    await self._search(client, name, load)

    async def lists(self) -> None:
        """Work through one list after the other."""
        while time.perf_counter() < self.ends_at:
            async with await self._client() as client:
                wanted = islice(self._names, OF_A_KEY)
                async for _ in client.contacts.search_many(wanted):
                    pass

    async def _client(self) -> AsyncClient:
        key = await self._operator.create_key("bench", 100)
        return AsyncClient(next(self._nodes), key.key, patience=NO_RETRIES)

    async def _search(self, client: AsyncClient, name: str, load: str) -> None:
        again_s = FLOOD_AGAIN_S if load == "flood" else AGAIN_S
        while (began := time.perf_counter()) < self.ends_at:
            try:
                await client.contacts.search(name)
            except AtCapacity:
                self.refused[load] += 1
                await asyncio.sleep(again_s)
            else:
                self.took_s[load].append(time.perf_counter() - began)
                return


async def most_of(cluster: Cluster, most: Counter[str]) -> None:
    """Note in *most* the largest memory of a process, MiB, and the most that waits."""
    async with httpx.AsyncClient(timeout=30, trust_env=False) as client:
        while True:
            for name, role in cluster.roles.items():
                url = f"http://127.0.0.1:{cluster.admin_ports[name]}/metrics"
                figures = FIGURE.findall((await client.get(url)).text)
                for what, value in (*figures, ("memory_mib", memory_mib(role.pid))):
                    most[what] = max(most[what], int(float(value)))
            await asyncio.sleep(LOOK_S)


async def measure(cluster: Cluster, seconds: float, running: int, names: Sequence[str]) -> Any:
    most = {"without the flood": Counter[str](), "with it": Counter[str]()}
    async with operating(cluster.environment) as operator:
        loads = Loads(cluster, operator, iter(names))

        async def at_work(*who: Coroutine[Any, Any, None], when: str, for_s: float) -> None:
            loads.ends_at = time.perf_counter() + for_s
            looking = asyncio.create_task(most_of(cluster, most[when]))
            await asyncio.gather(*who)
            looking.cancel()

        calm, busy = most
        warm_up = (loads.searches("warm-up") for _ in range(NODES))
        await at_work(*warm_up, when=calm, for_s=WARM_S)
        await at_work(loads.searches("alone"), when=calm, for_s=seconds)
        both = loads.lists(), loads.searches("with a list")
        await at_work(*both, when=calm, for_s=seconds)
        flood = [loads.searches("flood") for _ in range(CALLERS_A_LOOKUP * running)]
        both = loads.lists(), loads.searches("with a list and a flood")
        await at_work(*both, *flood, when=busy, for_s=seconds)
    del loads.took_s["warm-up"]
    lookup_s = median(loads.took_s["alone"])
    return {
        "load_1m": round(os.getloadavg()[0], 1),
        "rows": {
            load: row(took_s, lookup_s, loads.refused[load])
            for load, took_s in loads.took_s.items()
        },
        "most": most,
    }


def row(took_s: Sequence[float], lookup_s: float, refused: int) -> Mapping[str, float]:
    return {
        "answers": len(took_s),
        "median_s": round(median(took_s), 2),
        "median_lookups": round(median(took_s) / lookup_s, 2),
        "longest_lookups": round(max(took_s) / lookup_s, 2),
        "refused": round(refused / (refused + len(took_s)), 2),
    }


def main(seconds: float, slots: int) -> Any:
    running = RUNNING_A_SLOT * NODES * slots
    names = brands(BRANDS)
    reply = {"kind": "slow", "delay_s": REPLY_S}
    slow = {
        "services": {name: {"latency_s": LATENCY_S} for name in ("wikidata", "searxng")},
        "mail": [{"domain": f"{name.lower()}.test", "behaviour": reply} for name in names],
    }
    path = os.pathsep.join((str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")))
    few = {"CS_LOOKUPS_AT_ONCE": str(running), SLOTS: str(slots), "PYTHONPATH": path}
    with tempfile.TemporaryDirectory() as made:
        world = write_world(Path(made) / "world.json", names, **slow)
        with running_cluster(world=world, kinds=()) as cluster:
            for kind in [*KINDS] * NODES:
                cluster.add(kind, **few).module = "few_slots"
            cluster.start_missing()
            found = asyncio.run(measure(cluster, seconds, running, names))
            return {"lookups_at_once": running, **found}


if __name__ == "__main__":
    parser = command(__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--slots", type=int, default=2)
    given = parser.parse_args()
    show(main(given.seconds, given.slots), as_json=given.json)
