"""Fixtures that hand a whole service to tests; `tests/conftest.py` makes them known."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from harness.served import Served, served
from system.cluster.cluster import Cluster, running_cluster
from system.cluster.clustered import Clustered

#: Either form of a whole sandbox service, from outside.
Service: TypeAlias = Served | Clustered


@contextmanager
def running_two_nodes() -> Iterator[Cluster]:
    """Run one role of every kind, and a second node of the API."""
    with running_cluster() as cluster:
        second = cluster.add("api")
        second.start()
        second.wait_ready()
        yield cluster


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[Cluster]:
    """A cluster with two nodes of the API that tests share: leave its roles running.

    Each worker of a run has its own, since a test may move the clock or kill every role.
    """
    with running_two_nodes() as cluster:
        yield cluster


@pytest.fixture
def clustered(two_nodes: Cluster) -> Clustered:
    """The shared cluster, with nothing left to reuse."""
    return Clustered.fresh(two_nodes)


@pytest.fixture(params=["embedded", "cluster"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """A whole service with nothing to reuse, once in each form."""
    if request.param == "cluster":
        yield request.getfixturevalue("clustered")
        return
    with served(tmp_path / "data") as service:
        yield service
