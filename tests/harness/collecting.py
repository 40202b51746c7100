"""A pytest plug-in: 6,000 tests are collected, and kept in memory, for little.

Each worker of a run collects all of them.  Looking through a module's names for doctests takes
as long as collecting its tests, so modules without an example are not looked through, nor
imported for it.
"""

import gc
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

_EXAMPLE = b">>> "


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    collectors = yield
    return [
        each
        for each in collectors
        if not isinstance(each, DoctestModule) or _EXAMPLE in file_path.read_bytes()
    ]


def pytest_collection_finish() -> None:
    """Take what was collected out of sight of the garbage collector: it lives to the end."""
    gc.collect()
    gc.freeze()
