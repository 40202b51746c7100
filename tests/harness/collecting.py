"""A pytest plug-in: 8,600 tests are collected, and kept in memory, for little.

Each worker of a run collects all of them.  Looking through a module's names for doctests takes
as long as collecting its tests, so modules without an example are not looked through, nor
imported for it.  Nor are modules whose tests are all slow, where slow ones are left out.
"""

import gc
import re
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

_EXAMPLE = b">>> "
_ALL_SLOW = re.compile(rb"^pytestmark = \[?pytest\.mark\.slow\b", re.MULTILINE)
#: What `make test-fast` selects.
_INNER_LOOP = "not slow"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out a module of which every test would be deselected."""
    left_out = (
        config.option.markexpr == _INNER_LOOP
        and collection_path.suffix == ".py"
        and _ALL_SLOW.search(collection_path.read_bytes())
    )
    return True if left_out else None


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


def pytest_collection() -> None:
    """Look for no garbage meanwhile: nearly all that is made is kept."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take what was collected out of sight of the garbage collector: it lives to the end."""
    gc.enable()
    gc.collect()
    gc.freeze()
