"""Cuts the network between two hosts, whose clocks differ, while clients go on calling.

``make faults-network``, or ``unshare --net python -m system.cluster.network_storm`` in
``tests``.  It wants root, iptables, and libfaketime where clocks are to differ.

The first host has the servers, the world and a role of every kind.  The second one has another
of each kind that asks nothing of the outside world, since that listens on the loopback address
of the first.  Each cut is of the database, of the broker, or of both, in one direction or in
both.  The second host's clock is five minutes ahead, and after half of the cuts five behind.
"""

import argparse
import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, product
from pathlib import Path

import msgspec

from harness.api_keys import operating
from harness.service_process import ServiceProcess
from system.cluster.cluster import KINDS, Cluster, running_cluster
from system.cluster.storm import Crowd, Nodes, another, ask_during, progress, run_and_exit
from system.cluster.storm_checks import bugs, lookups_by_question, stored
from system.cluster.storm_paid import Provider, provider
from system.cluster.storm_roles import Keeper
from system.cluster.two_hosts import DIRECTIONS, Cut, SecondHost, second_host
from system.faults.caller import Caller, Notebook, final, http_client
from system.faults.results import Report, client_results
from system.faults.world import Wish, make_world, wishes

#: Kinds of role that the second host has too: the other stages ask the world.
ON_BOTH = ("api", "relay", "process-manager", "project", "stage-ranking")
#: How far the second host's clock is from the first one's.
SKEW_S = 300
#: Where Debian has libfaketime.
_FAKETIME = "*/faketime/libfaketime.so.1"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    seed: int = 1
    cuts: int = 18
    cut_s: float = 15.0  # longer than a lease and than a session of Kafka
    calm_s: float = 10.0
    keys: int = 60
    at_once: int = 8  # wishes
    pause_s: float = 4.0  # mean, between two wishes of one client
    brands: int = 96


@dataclass
class Cuts:
    """Cuts the network of *host* again and again.

    Attributes:
        done: What was cut, in which direction.
    """

    plan: Plan
    cluster: Cluster
    host: SecondHost
    there: Sequence[ServiceProcess]  # roles on that host
    chance: random.Random
    tell: Callable[[str], None]
    done: list[str] = field(default_factory=list)

    async def come(self) -> None:
        every = list(product(self._ports(), DIRECTIONS))
        self.chance.shuffle(every)
        for number, (target, direction) in enumerate(islice(cycle(every), self.plan.cuts)):
            if number == self.plan.cuts // 2:
                await asyncio.to_thread(self._turn_clock_back)
            await asyncio.sleep(self.plan.calm_s)
            what = f"{target}, {direction}"
            self.tell(f"cut: {what}")
            with self.host.without(Cut(self._ports()[target], direction)):
                await asyncio.sleep(self.plan.cut_s)
            self.done.append(what)
        self.tell("nothing is cut any more")

    def _ports(self) -> dict[str, list[int]]:
        database = [self.cluster.postgres.port]
        brokers = [each.port for each in self.cluster.kafka.brokers]
        return {"database": database, "broker": brokers, "all": database + brokers}

    def _turn_clock_back(self) -> None:
        """Start the roles of the host again, with a clock that is behind."""
        self.tell(f"the clock of the second host is {SKEW_S} s behind")
        for role in self.there:
            role.stop()
            role.environment = {**role.environment, **skewed(-SKEW_S)}
            role.start()
        for role in self.there:
            role.wait_ready()


def skewed(seconds: int) -> dict[str, str]:
    """Return the environment of a process whose clock is *seconds* ahead."""
    library = next(Path("/usr/lib").glob(_FAKETIME), None)
    if library is None:
        raise SystemExit("libfaketime is missing: `apt install faketime`")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{seconds:+d}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
    }


def storm(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Report:
    """Run *plan*; its world file is written into *folder*."""
    world = make_world(folder / "world.json", plan.brands)
    with (
        second_host() as host,
        running_cluster(kinds=(), world=world, durable=True, tell=tell) as cluster,
    ):
        return asyncio.run(_storm(plan, cluster, host, wishes(world), tell))


async def _storm(
    plan: Plan,
    cluster: Cluster,
    host: SecondHost,
    wanted: Sequence[Wish],
    tell: Callable[[str], None],
) -> Report:
    chance = random.Random(plan.seed)
    async with (
        provider(another(chance)) as paid,
        operating(cluster.environment) as operator,
        http_client() as http,
    ):
        there = await asyncio.to_thread(_start, cluster, host, paid)
        tell(f"{len(cluster.roles)} roles run, {len(there)} of them on the second host")
        keys = [await operator.create_key("storm", 20) for _ in range(plan.keys)]
        nodes, notes = Nodes(cluster), Notebook()
        callers = [Caller(nodes, key, notes, http, another(chance)) for key in keys]
        crowd = Crowd(callers, wanted, operator, 2_000, plan.pause_s)
        cuts = Cuts(plan, cluster, host, there, another(chance), tell)
        telling = asyncio.create_task(progress(Keeper(cluster, tell), notes, tell))
        try:
            await ask_during(cuts.come(), crowd, plan.at_once, chance)
            tell("everything that clients know of is read again")
            end = await final(callers)
        finally:
            telling.cancel()
            await asyncio.wait({telling})
        tell("the log is checked, and replayed")
        clients, left = client_results(notes, end), await stored(cluster)
        ended = [name for name, role in cluster.roles.items() if not role.runs]
        facts = {"cuts": cuts.done, "paid": paid.charges.total(), **clients.facts, **left.facts}
        faults = [*clients.faults, *left.faults, *bugs(cluster)]
        faults += [f"{name} has ended" for name in ended]
        faults += paid.too_often(await lookups_by_question(cluster))
        if not paid.charges:
            faults.append("no call was paid for: nothing was proven")
        return Report(facts, faults)


def _start(cluster: Cluster, host: SecondHost, paid: Provider) -> Sequence[ServiceProcess]:
    """Start all roles; return those on the second host."""
    path = str(Path(__file__).parents[2])
    for kind in KINDS:
        asks = kind == "stage-contact-discovery"
        cluster.add(kind, **(paid.environment(path) if asks else {}))
    here = set(cluster.ports.values())
    there = [cluster.add(kind, **skewed(SKEW_S)) for kind in ON_BOTH]
    for role in there:
        role.launcher = host.launcher
    host.show_here([cluster.postgres.port, *(each.port for each in cluster.kafka.brokers)])
    host.show_there(set(cluster.ports.values()) - here)
    cluster.start_missing()
    return there


def main() -> None:
    parser = argparse.ArgumentParser(description="Cut the network of a cluster on two hosts.")
    parser.add_argument("--cuts", type=int, default=18)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    plan = Plan(seed=chosen.seed, cuts=chosen.cuts)
    run_and_exit(lambda folder, tell: storm(plan, folder, tell))


if __name__ == "__main__":
    main()
