"""Fixtures that hand a whole service to tests; `tests/conftest.py` makes them known.

A cluster that nobody uses takes 8 % of a core (measured: nine roles and Kafka about half each),
so the shared one rests while tests run that do not need it.
"""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from harness.served import Served, served
from system.cluster.cluster import Cluster, running_cluster
from system.cluster.clustered import Clustered

#: Either form of a whole sandbox service, from outside.
Service: TypeAlias = Served | Clustered
#: Of a test that uses `two_nodes`; said where that is asked for while it runs.
ON_A_CLUSTER = pytest.mark.on_a_cluster
_SHARED = pytest.StashKey["SharedCluster"]()


@dataclass
class SharedCluster:
    """The cluster of a worker's tests; roles and broker run only for those that use it."""

    cluster: Cluster
    _rests: bool = False

    def rest(self) -> None:
        """End every role and the broker; databases, topics and the world stay."""
        if not self._rests:
            self._rests = True
            self.cluster.end()
            self.cluster.kafka.stop()

    def wake(self) -> None:
        """Start again, on the same ports, what `rest` has ended."""
        if self._rests:
            self.cluster.kafka.start()
            self.cluster.start_missing()
            self._rests = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "two_nodes" in getattr(item, "fixturenames", ()):
            item.add_marker(ON_A_CLUSTER)


def _is_on_it(item: pytest.Item) -> bool:
    return item.get_closest_marker(ON_A_CLUSTER.name) is not None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if _SHARED in item.session.stash and _is_on_it(item):
        item.session.stash[_SHARED].wake()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, None, None]:
    yield
    if _SHARED in item.session.stash and nextitem is not None and not _is_on_it(nextitem):
        item.session.stash[_SHARED].rest()


@contextmanager
def running_two_nodes() -> Iterator[Cluster]:
    """Run one role of every kind, and a second node of the API."""
    with running_cluster() as cluster:
        second = cluster.add("api")
        second.start()
        second.wait_ready()
        yield cluster


@pytest.fixture(scope="session")
def two_nodes(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster with two nodes of the API that tests share: leave its roles running.

    Each worker of a run has its own, since a test may move the clock or kill every role; they
    are ordered so that one worker has all such tests, if it is not much slower than others.
    """
    with running_two_nodes() as cluster:
        request.session.stash[_SHARED] = SharedCluster(cluster)
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
