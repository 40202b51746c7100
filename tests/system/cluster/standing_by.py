"""A second process of every role that is led."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from system.cluster.cluster import Cluster

#: Roles of which one process leads.
LED = ("relay", "process-manager", "project")


@contextmanager
def standing_by(cluster: Cluster) -> Iterator[None]:
    """Run a second process of each of `LED` until left."""
    added = [cluster.add(kind) for kind in LED]
    try:
        cluster.start_missing()
        yield
    finally:
        for role in added:
            role.end()
            del cluster.roles[role.name]
        cluster.start_missing()


def seconds_until(condition: Callable[[], bool], timeout_s: float = 60.0) -> float:
    """Return after how many seconds *condition* held."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < timeout_s, "it did not come about in time"
    return time.monotonic() - began
