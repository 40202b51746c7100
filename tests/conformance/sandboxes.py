"""Deployments of our own to test: one process, and a cluster with two nodes of the API.

Loaded only where one is wanted, since all else here knows nothing of the service.
"""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from conformance.target import Clock, Key, Target, run
from cs.assembly.operator_command import open_command_context
from cs.operations.operator import Operator
from cs.settings import load
from harness.api_keys import operating
from harness.served import served
from system.cluster.cluster import Cluster

#: How many keys of each quota are made at the start, since a command takes a second.
POOL = {100: 500, 2: 12, 1: 20, 0: 8}
#: The same of a node that few tests use.
FEW = {100: 150, 2: 8, 1: 12, 0: 4}
#: How many lookups a day the node starts that is to be filled up.
CEILING = 4
_CEILING = {"CS_LOOKUPS_PER_DAY": str(CEILING)}


@pytest.fixture(scope="session")
def embedded_target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    with embedded(tmp_path_factory.mktemp("conformance")) as target:
        yield target


@pytest.fixture(scope="session")
def cluster_target(two_nodes: Cluster) -> Iterator[Target]:
    """Where nobody asked for a cluster, other tests have this one too: it stays as it is."""
    alone = "CS_CONFORMANCE" in os.environ
    with (clustered if alone else shared)(two_nodes) as target:
        yield target


@contextmanager
def embedded(folder: Path) -> Iterator[Target]:
    """Serve in one process, and in a second one with a ceiling."""
    with (
        one_process(folder / "data") as target,
        one_process(folder / "ceiling", FEW, **_CEILING) as ceiling,
    ):
        target.ceiling = ceiling
        yield target


@contextmanager
def one_process(
    folder: Path, wanted: Mapping[int, int] = POOL, **environment: str
) -> Iterator[Target]:
    pool = asyncio.run(made_in(folder, wanted))
    with served(folder, **environment) as service:
        words = [sys.executable, "-m", "cs"]
        with Target(
            urls=service.urls,
            clock=Clock(service.admin_url),
            command=lambda more: run([*words, *more, f"--data-dir={folder}"]),
            pool=pool,
        ) as target:
            yield target


@contextmanager
def clustered(cluster: Cluster) -> Iterator[Target]:
    """Take *cluster*, which has two nodes of the API, and add one with a ceiling."""
    urls = list(cluster.urls)
    role = cluster.add("api", **_CEILING)
    clock = Clock(cluster.admin_url)
    margin = timedelta(seconds=20)  # the clock is moved only when the log is at rest

    def command(more: Sequence[str]) -> str:
        return cluster.command(*more)

    try:
        role.start()
        role.wait_ready()
        pool = asyncio.run(_made_for(cluster))
        with (
            Target([cluster.urls[-1]], clock, command, margin, pool) as last,
            Target(urls, clock, command, margin, pool, last) as target,
        ):
            yield target
    finally:
        role.end()
        for known in (cluster.roles, cluster.ports, cluster.admin_ports):
            known.pop(role.name)


@contextmanager
def shared(cluster: Cluster) -> Iterator[Target]:
    """Take *cluster* without a node with a ceiling."""
    pool = asyncio.run(_made_for(cluster))
    clock = Clock(cluster.admin_url)
    with Target(list(cluster.urls), clock, lambda more: cluster.command(*more), pool=pool) as t:
        yield t


async def made_in(folder: Path, wanted: Mapping[int, int]) -> dict[int, list[Key]]:
    """Make a data folder with keys: how many of which quota is *wanted*."""
    environment = {name: v for name, v in os.environ.items() if not name.startswith("CS_")}
    settings = load(environment=environment, given={"data_dir": folder})
    async with open_command_context(settings, new=True) as data:
        return await _made(data.operator, wanted)


async def _made_for(cluster: Cluster) -> dict[int, list[Key]]:
    async with operating(cluster.environment) as operator:
        return await _made(operator)


async def _made(operator: Operator, wanted: Mapping[int, int] = POOL) -> dict[int, list[Key]]:
    pool: dict[int, list[Key]] = {}
    for quota, number in wanted.items():
        for _ in range(number):
            new = await operator.create_key("conformance", quota)
            pool.setdefault(quota, []).append(Key(new.id, new.key, quota))
    return pool
