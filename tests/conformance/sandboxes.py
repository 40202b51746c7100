"""Deployments of our own to test: one process, and a cluster with two nodes of the API.

Loaded only where one is wanted, since all else here knows nothing of the service.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from conformance.target import Clock, Command, Key, Target
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
    """One process, and a second one with a ceiling."""
    folder = tmp_path_factory.mktemp("conformance")
    with (
        one_process(folder / "data") as target,
        one_process(folder / "ceiling", FEW, **_CEILING) as ceiling,
    ):
        target.ceiling = ceiling
        yield target


@pytest.fixture(scope="session")
def cluster_target(two_nodes: Cluster) -> Iterator[Target]:
    """Without `CS_CONFORMANCE` other tests use this cluster too: it stays unchanged."""
    if "CS_CONFORMANCE" in os.environ:
        with clustered(two_nodes) as target:
            yield target
        return
    pool = asyncio.run(_made_in(two_nodes.environment))
    command = _command_of(two_nodes)
    with Target(two_nodes.urls, Clock(two_nodes.admin_url), command, pool=pool) as target:
        yield target


@contextmanager
def one_process(
    folder: Path, wanted: Mapping[int, int] = POOL, **environment: str
) -> Iterator[Target]:
    pool = asyncio.run(_made_in({"CS_DATA_DIR": str(folder)}, wanted))
    with (
        served(folder, **environment) as service,
        Target(
            urls=service.urls,
            clock=Clock(service.admin_url),
            command=lambda more: service.command(*more),
            pool=pool,
        ) as target,
    ):
        yield target


@contextmanager
def clustered(cluster: Cluster) -> Iterator[Target]:
    """Take *cluster*, which has two nodes of the API, and add one with a ceiling."""
    urls = list(cluster.urls)
    role = cluster.add("api", **_CEILING)
    clock = Clock(cluster.admin_url)
    margin = timedelta(seconds=20)  # the clock is moved only when the log is at rest
    command = _command_of(cluster)
    try:
        role.start()
        role.wait_ready()
        pool = asyncio.run(_made_in(cluster.environment))
        with (
            Target([cluster.urls[-1]], clock, command, margin, pool) as last,
            Target(urls, clock, command, margin, pool, last) as target,
        ):
            yield target
    finally:
        role.end()
        for known in (cluster.roles, cluster.ports, cluster.admin_ports):
            known.pop(role.name)


def _command_of(cluster: Cluster) -> Command:
    return lambda more: cluster.command(*more)


async def _made_in(
    environment: Mapping[str, str], wanted: Mapping[int, int] = POOL
) -> dict[int, list[Key]]:
    """Make keys in the data that *environment* names: how many of which quota is *wanted*."""
    pool: dict[int, list[Key]] = {}
    async with operating(environment) as operator:
        for quota, number in wanted.items():
            for _ in range(number):
                new = await operator.create_key("conformance", quota)
                pool.setdefault(quota, []).append(Key(new.id, new.key, quota))
    return pool
