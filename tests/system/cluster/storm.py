"""Kills roles of a cluster, its brokers and its database while clients go on calling.

``python -m system.cluster.storm --kills 200`` in ``tests``, or ``make faults-cluster``.
What is done, and in which order, follows from the seed; what happens between does not.
"""

import argparse
import asyncio
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from cs.cli.output import console, errors
from cs.domain.contact import Query
from cs.domain.refusal import Refusal
from cs.eventlog.port import LogUnavailable
from cs.operations.operator import Operator
from cs.postgres.errors import DatabaseUnavailable
from harness.api_keys import operating
from system.cluster import faulty_role
from system.cluster.cluster import KINDS, Cluster, running_cluster
from system.cluster.storm_checks import bugs, lookups_by_question, stored
from system.cluster.storm_paid import Provider, provider
from system.cluster.storm_roles import POINTS, Deaths, Keeper
from system.cluster.storm_servers import LEADERS, Servers
from system.faults.caller import Caller, Notebook, final, http_client
from system.faults.results import Report, client_results
from system.faults.world import Wish, make_world, wishes

Tell = Callable[[str], None]

#: Of the quotas, the last is soon used up.
_QUOTAS = (60, 20, 10, 2)
#: What clients may take to end once nothing is killed any more: more than a lookup may.
_END_S = 180.0
#: Interval between two reports of progress.
_TELL_S = 10.0
#: Shares of wishes that are for one of a few favourites, come from one of a few busy keys, are
#: forgotten before, so that they are searched for live, and hold the call.
_FAVOURITE, _BUSY, _FORGOTTEN, _WAIT = 0.2, 0.15, 0.8, 0.5
_BUSY_KEYS = 6
#: Deaths of roles between two faults of servers.
_DEATHS_APART = 12
#: What happens to servers and to roles that lead.
ONE_BROKER = ("kill-broker", "restart-postgres", "suspend-leader relay", "wipe-kafka")
THREE_BROKERS = (
    *("kill-broker", "restart-postgres", "stop-broker", "suspend-broker", "kill-postgres"),
    *(f"suspend-leader {of}" for of in LEADERS),
    *("wipe-kafka", "kill-broker", "restart-postgres", "suspend-broker", "stop-broker"),
    *(f"suspend-leader {of}" for of in LEADERS),
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    seed: int = 1
    kills: int = 200
    brokers: int = 3
    each: int = 2
    points: Sequence[str] = POINTS
    servers: Sequence[str] = THREE_BROKERS
    every_s: float = 4.0  # between two deaths of roles
    suspended_s: float = 15.0
    keys: int = 150
    at_once: int = 8  # wishes
    searches: int = 2000  # no more wishes than this
    pause_s: float = 8.0  # mean, between two wishes of one client
    brands: int = 96
    most_s: float = 1200.0  # no kill after this
    logs: Path | None = None  # a folder that the logs of all roles are copied to


def storm(plan: Plan, folder: Path, tell: Tell) -> Report:
    """Run *plan*; its world file is written into *folder*."""
    world = make_world(folder / "world.json", plan.brands)
    with running_cluster(
        brokers=plan.brokers, kinds=(), world=world, durable=True, tell=tell
    ) as cluster:
        try:
            return asyncio.run(_storm(plan, cluster, wishes(world), tell))
        finally:
            if plan.logs is not None:
                plan.logs.mkdir(parents=True, exist_ok=True)
                for role in (cluster.world, *cluster.roles.values()):
                    shutil.copy(role.log, plan.logs)


class Nodes:
    """Where the API is: another node each time it is asked."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._turns = count()

    async def up(self) -> str:
        urls = self._cluster.urls
        return urls[next(self._turns) % len(urls)]


@dataclass
class Crowd:
    """Clients that ask at once for *wanted*, with the keys of *callers*."""

    callers: Sequence[Caller]
    wanted: Sequence[Wish]
    operator: Operator
    most: int  # wishes
    pause_s: float  # mean, after each answer

    def __post_init__(self) -> None:
        self._turns = cycle(self.callers)
        self._numbers = count(1)

    async def ask(self, over: asyncio.Event, chance: random.Random) -> None:
        """Ask for one wish after the other until *over* is set."""
        favourites = self.wanted[: len(self.wanted) // 8]
        while not over.is_set() and next(self._numbers) <= self.most:
            busy = chance.random() < _BUSY
            caller = chance.choice(self.callers[:_BUSY_KEYS]) if busy else next(self._turns)
            wish = chance.choice(favourites if chance.random() < _FAVOURITE else self.wanted)
            if chance.random() < _FORGOTTEN:
                with suppress(LogUnavailable, DatabaseUnavailable, Refusal):
                    query = Query(wish.body.get("brand"), wish.body.get("domain"))
                    await self.operator.forget_brand(query)
            await caller.want(wish, wait=chance.random() < _WAIT)
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), chance.uniform(0, 2 * self.pause_s))


async def _storm(plan: Plan, cluster: Cluster, wanted: Sequence[Wish], tell: Tell) -> Report:
    chance = random.Random(plan.seed)
    async with (
        provider(another(chance)) as paid,
        operating(cluster.environment) as operator,
        http_client() as http,
    ):
        await asyncio.to_thread(_start, cluster, plan, paid)
        tell(f"{len(cluster.roles)} roles run")
        began = time.monotonic()
        keys = [
            await operator.create_key("storm", _QUOTAS[number % len(_QUOTAS)])
            for number in range(plan.keys)
        ]
        nodes, notes = Nodes(cluster), Notebook()
        callers = [Caller(nodes, key, notes, http, another(chance)) for key in keys]
        crowd = Crowd(callers, wanted, operator, plan.searches, plan.pause_s)
        keeper, until = Keeper(cluster, tell), began + plan.most_s
        deaths = Deaths(keeper, plan.kills, plan.points, plan.every_s, until, another(chance))
        servers = Servers(
            cluster,
            plan.servers,
            plan.kills * plan.every_s / (len(plan.servers) + 1),
            plan.suspended_s,
            until,
            another(chance),
            tell,
        )
        background = [
            asyncio.create_task(keeper.run()),
            asyncio.create_task(progress(keeper, notes, tell)),
        ]
        try:
            await ask_during(_kill(deaths, servers), crowd, plan.at_once, chance)
            tell("everything that clients know of is read again")
            end = await final(callers)
        finally:
            for task in background:
                task.cancel()
            await asyncio.wait(background)
        tell("the log is checked, and replayed")
        clients, left = client_results(notes, end), await stored(cluster)
        facts = {
            "kills": dict(keeper.kills),
            "at_start": keeper.at_start,
            "points": dict(keeper.hit),
            "servers": servers.done,
            "fell": keeper.fell,
            "seconds": time.monotonic() - began,
            "paid": paid.charges.total(),
            **clients.facts,
            **left.facts,
        }
        faults = [*clients.faults, *left.faults, *bugs(cluster)]
        faults += [f"no role died at {point}" for point in deaths.missing]
        faults += paid.too_often(await lookups_by_question(cluster))
        if not paid.charges:
            faults.append("no call was paid for: nothing was proven")
        return Report(facts, faults)


async def ask_during(
    storming: Coroutine[Any, Any, None], crowd: Crowd, at_once: int, chance: random.Random
) -> None:
    """Ask until *storming* is over; return when the last call was answered, or will not be."""
    over = asyncio.Event()
    with suppress(TimeoutError):  # a wish without an answer by then is counted
        async with asyncio.timeout(None) as limit, asyncio.TaskGroup() as asking:
            for _ in range(at_once):
                asking.create_task(crowd.ask(over, another(chance)))
            await storming
            over.set()
            limit.reschedule(asyncio.get_running_loop().time() + _END_S)


async def _kill(deaths: Deaths, servers: Servers) -> None:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(deaths.come())
        tasks.create_task(servers.come())
    deaths.keeper.disarm()
    deaths.keeper.tell("nothing is killed any more")


def _start(cluster: Cluster, plan: Plan, paid: Provider) -> None:
    for kind in KINDS:
        for _ in range(plan.each):
            if not kind.startswith(faulty_role.KINDS):
                cluster.add(kind)
                continue
            more = dict(faulty_role.ENVIRONMENT)
            if kind == "stage-contact-discovery":
                more |= paid.environment(more["PYTHONPATH"])
            cluster.add(kind, **more).module = faulty_role.__name__
    cluster.start_missing()


async def progress(keeper: Keeper, notes: Notebook, tell: Tell) -> None:
    """Report how far it is, for ever."""
    began = time.monotonic()
    while True:
        await asyncio.sleep(_TELL_S)
        now = time.monotonic()
        waiting = [one.sent_at for one in notes.requests if one.answered_at is None]
        oldest = f", the oldest for {now - min(waiting):.0f} s" if waiting else ""
        tell(
            f"{now - began:.0f} s: {keeper.kills.total()} kills, {len(keeper.hit)} fail points,"
            f" {len(waiting)} of {len(notes.requests)} wishes wait{oldest}"
        )


def another(chance: random.Random) -> random.Random:
    """Return a generator that follows from *chance*, for a task of its own."""
    return random.Random(chance.getrandbits(64))


def some_points(seed: int, most: int) -> Sequence[str]:
    """Return at most *most* of the fail points that roles reach."""
    return random.Random(seed).sample(POINTS, min(most, len(POINTS)))


def run_and_exit(run: Callable[[Path, Tell], Report]) -> NoReturn:
    """Run a storm as a command: print its report, and exit with 1 if a promise was broken."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the servers are ended
    with tempfile.TemporaryDirectory(prefix="cs-storm-") as folder:
        report = run(Path(folder), errors.print)
    console.print(str(report), markup=False)
    sys.exit(1 if report.faults else 0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill the parts of a cluster at random.")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brokers", type=int, default=3, choices=(1, 3))
    parser.add_argument("--each", type=int, default=2, help="roles of every kind")
    parser.add_argument("--every-s", type=float, default=4.0, help="between two deaths")
    parser.add_argument("--most-s", type=float, default=1200.0, help="no kill after this")
    parser.add_argument("--logs", type=Path, help="a folder for the logs of all roles")
    chosen = parser.parse_args()
    servers = THREE_BROKERS if chosen.brokers > 1 else ONE_BROKER
    plan = Plan(
        seed=chosen.seed,
        kills=chosen.kills,
        points=some_points(chosen.seed, chosen.kills // 3),
        brokers=chosen.brokers,
        each=chosen.each,
        servers=servers[: max(1, chosen.kills // _DEATHS_APART)],
        every_s=chosen.every_s,
        most_s=chosen.most_s,
        logs=chosen.logs,
    )
    run_and_exit(lambda folder, tell: storm(plan, folder, tell))


if __name__ == "__main__":
    main()
