"""Fixtures that hand a whole service to tests; `tests/conftest.py` makes them known."""

from collections.abc import Iterator

import pytest

from harness.otlp import Receiver, receiving
from system.cluster.cluster import Cluster, running_cluster
from system.cluster.clustered import Clustered


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use `two_nodes`; one that asks for it while it runs has a mark."""
    for item in items:
        if "two_nodes" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.on_a_cluster)


@pytest.fixture(scope="session")
def receiver() -> Iterator[Receiver]:
    """Takes the traces of the shared cluster."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="session")
def two_nodes(receiver: Receiver) -> Iterator[Cluster]:
    """A cluster with two nodes of the API that tests share: leave its roles running.

    Each worker of a run has its own, since a test may move the clock or kill every role; they
    are ordered so that one worker has all such tests, if it is not much slower than others.
    """
    with running_cluster(kinds=()) as cluster:
        for environment in (cluster.environment, cluster.stage_environment):
            environment["CS_TRACES_TO"] = receiver.url
        cluster.add("api").start()
        cluster.start()
        yield cluster


@pytest.fixture
def clustered(two_nodes: Cluster) -> Clustered:
    """The shared cluster, with nothing left to reuse."""
    return Clustered.fresh(two_nodes)
