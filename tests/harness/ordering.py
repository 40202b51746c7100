"""A pytest plug-in: what lasts long is begun first, and one worker has all tests on a cluster.

Each worker begins with a part of the whole, all of the same length, and one that is done
takes from the end of another's (``--dist worksteal`` of pytest-xdist).  So a part begins with
the tests that must not be left for the last minute: the first with all tests on a cluster, so
that one worker starts a cluster, and the others, in turn, with a test that lasts minutes.
"""

import os
from collections.abc import Sequence
from itertools import islice
from typing import TypeVar

import pytest

T = TypeVar("T")


@pytest.hookimpl(trylast=True)  # once it is known what is selected
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = in_parts(
        items,
        int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")),
        together=[item for item in items if item.get_closest_marker("on_a_cluster")],
        long=[item for item in items if item.get_closest_marker("begun_first")],
    )


def in_parts(
    items: Sequence[T], workers: int, *, together: Sequence[T], long: Sequence[T]
) -> list[T]:
    """Return *items* in an order that has *together* and *long* at the beginnings of parts."""
    begin_with = [list(together), *([] for _ in range(workers - 1))]
    for number, item in enumerate(long):
        begin_with[-1 - number % max(1, workers - 1)].append(item)
    moved = {*together, *long}
    rest = (item for item in items if item not in moved)
    ordered: list[T] = []
    for left, first in zip(range(workers, 0, -1), begin_with, strict=True):
        length = (len(items) - len(ordered)) // left  # as the scheduler divides them
        ordered += first
        ordered += islice(rest, max(0, length - len(first)))
    return [*ordered, *rest]
