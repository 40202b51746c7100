"""Fixtures that hand a whole service to tests; `tests/conftest.py` makes them known."""

from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

from harness.served import Served, served
from system.cluster.cluster import Cluster, running_cluster
from system.cluster.clustered import Clustered

#: Either form of a whole sandbox service, from outside.
Service: TypeAlias = Served | Clustered
#: Of a test that uses `two_nodes`; a test that asks for it while it runs has to be marked.
ON_A_CLUSTER = pytest.mark.on_a_cluster


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "two_nodes" in getattr(item, "fixturenames", ()):
            item.add_marker(ON_A_CLUSTER)


@pytest.fixture(scope="session")
def two_nodes() -> Iterator[Cluster]:
    """A cluster with two nodes of the API that tests share: leave its roles running.

    Each worker of a run has its own, since a test may move the clock or kill every role; they
    are ordered so that one worker has all such tests, if it is not much slower than others.
    """
    with running_cluster() as cluster:
        second = cluster.add("api")
        second.start()
        second.wait_ready()
        yield cluster


@pytest.fixture
def clustered(two_nodes: Cluster) -> Clustered:
    """The shared cluster, with nothing left to reuse."""
    return Clustered.fresh(two_nodes)


@pytest.fixture(params=["embedded", pytest.param("cluster", marks=ON_A_CLUSTER)])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    """A whole service with nothing to reuse, once in each form."""
    if request.param == "cluster":
        yield request.getfixturevalue("clustered")
        return
    with served(tmp_path / "data") as service:
        yield service
