"""Upgrades a cluster of another version, role by role, while clients go on calling.

``make faults-upgrade FROM=CHECKOUT``, or ``python -m system.cluster.upgrade_storm CHECKOUT`` in
``tests``.  Databases, topics and the first searches are made by the version in *CHECKOUT*,
which runs on the packages of this one.  Then every role is replaced in the order of
docs/deploy.md, "Upgrades", and all that clients were answered is compared with the end.
"""

import argparse
import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from cs.operations.operator import NewSecret
from harness.api_keys import operating
from harness.service_process import ServiceProcess
from system.cluster.cluster import KINDS, Cluster, running_cluster
from system.cluster.storm import Crowd, Nodes, another, ask_during, run_and_exit
from system.cluster.storm_checks import bugs, lookups_by_question, stored
from system.cluster.storm_paid import Provider, provider
from system.faults.caller import Caller, Notebook, final, http_client
from system.faults.results import Report, client_results
from system.faults.world import Wish, make_world, wishes

#: Where modules of tests are, for roles of this version.
TESTS = str(Path(__file__).parents[2])
#: Kinds of role in the order in which they are replaced.
ORDER = (
    "project",
    *(kind for kind in KINDS if kind.startswith("stage-")),
    "relay",
    "process-manager",
    "api",
)


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    old: Path  # a checkout
    seed: int = 1
    calm_s: float = 8.0  # before each step
    keys: int = 60
    old_keys: int = 8  # of the old version, each with a search before anything is replaced
    at_once: int = 8  # wishes
    pause_s: float = 3.0  # mean, between two wishes of one client
    brands: int = 96


@dataclass
class Upgrade:
    """Replaces all roles of *cluster*, a kind after the other.

    Attributes:
        done: The kinds that were replaced.
    """

    cluster: Cluster
    paid: Provider
    calm_s: float
    tell: Callable[[str], None]
    done: list[str] = field(default_factory=list)

    async def come(self) -> None:
        for kind in ORDER:
            await asyncio.sleep(self.calm_s)
            old = self.cluster.of(kind)
            for role in old:
                await asyncio.to_thread(self._replace, kind, role)
            self.tell(f"{kind} is of this version")
            self.done.append(kind)
        await asyncio.sleep(self.calm_s)

    def _replace(self, kind: str, old: ServiceProcess) -> None:
        """Start a role of this version, and then end the old one, which has a successor."""
        new = self.cluster.add(kind, **environment_of(kind, TESTS, self.paid))
        new.start()
        new.wait_ready()
        self.cluster.ports.pop(old.name, None)
        old.stop()


def environment_of(kind: str, path: str, paid: Provider) -> dict[str, str]:
    """Return the environment of a role of *kind* with modules at *path*."""
    asks = kind == "stage-contact-discovery"
    return dict(paid.environment(path)) if asks else {"PYTHONPATH": path}


def storm(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Report:
    """Run *plan*; its world file is written into *folder*."""
    world = make_world(folder / "world.json", plan.brands)
    with running_cluster(
        kinds=(), world=world, durable=True, packages=plan.old / "src", tell=tell
    ) as cluster:
        return asyncio.run(_storm(plan, cluster, wishes(world), tell))


async def _storm(
    plan: Plan, cluster: Cluster, wanted: Sequence[Wish], tell: Callable[[str], None]
) -> Report:
    chance = random.Random(plan.seed)
    nodes, notes = Nodes(cluster), Notebook()
    async with provider(another(chance)) as paid, http_client() as http:

        def caller(key: NewSecret) -> Caller:
            return Caller(nodes, key, notes, http, another(chance))

        await asyncio.to_thread(_start_old, cluster, paid)
        old = [caller(await asyncio.to_thread(_old_key, cluster)) for _ in range(plan.old_keys)]
        await asyncio.gather(
            *(each.want(w, wait=True) for each, w in zip(old, wanted, strict=False))
        )
        tell(f"{len(notes.answers)} answers of the other version; its databases are migrated")
        for environment in (cluster.environment, cluster.stage_environment):
            environment["PYTHONPATH"] = TESTS
        await asyncio.to_thread(cluster.command, "db", "migrate")
        async with operating(cluster.environment) as operator:
            new = [caller(await operator.create_key("storm", 20)) for _ in range(plan.keys)]
            crowd = Crowd([*new, *old], wanted, operator, 2_000, plan.pause_s)
            upgrade = Upgrade(cluster, paid, plan.calm_s, tell)
            await ask_during(upgrade.come(), crowd, plan.at_once, chance)
        tell("everything that clients know of is read again")
        end = await final([*new, *old])
        tell("the log is checked, and replayed")
        clients, left = client_results(notes, end), await stored(cluster)
        facts = {"replaced": upgrade.done, "paid": paid.charges.total()}
        faults = [*clients.faults, *left.faults, *bugs(cluster)]
        faults += paid.too_often(await lookups_by_question(cluster))
        if not paid.charges:
            faults.append("no call was paid for: nothing was proven")
        return Report({**facts, **clients.facts, **left.facts}, faults)


def _start_old(cluster: Cluster, paid: Provider) -> None:
    path = cluster.environment["PYTHONPATH"]
    for kind in (*KINDS, "api"):
        cluster.add(kind, **environment_of(kind, path, paid))
    cluster.start_missing()


def _old_key(cluster: Cluster) -> NewSecret:
    made = cluster.command("keys", "create", "--label=storm", "--quota=20", "--json")
    return msgspec.json.decode(made, type=NewSecret)


def main() -> None:
    parser = argparse.ArgumentParser(description="Upgrade a cluster of another version.")
    parser.add_argument("old", type=Path, help="a checkout of that version")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    plan = Plan(old=chosen.old.resolve(), seed=chosen.seed)
    if not (plan.old / "src/cs").is_dir():
        parser.error(f"{plan.old} is no checkout of this service")
    run_and_exit(lambda folder, tell: storm(plan, folder, tell))


if __name__ == "__main__":
    main()
