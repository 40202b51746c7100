"""A pytest plug-in: 10,500 tests are collected, and kept in memory, for little.

Each worker of a run collects all of them.  Looking through a module's names for doctests takes
as long as collecting its tests, so modules without an example are not looked through, nor
imported for it.  Where slow tests are left out they are not made either, and modules that
have no others are not imported.
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
        _is_inner_loop(config)
        and collection_path.suffix == ".py"
        and _ALL_SLOW.search(collection_path.read_bytes())
    )
    return True if left_out else None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, obj: object
) -> list[pytest.Item] | None:
    """Make no tests of a function, or a class, that is slow: they would be deselected."""
    marks = getattr(obj, "pytestmark", ()) if _is_inner_loop(collector.config) else ()
    is_slow = isinstance(marks, list) and any(mark.name == "slow" for mark in marks)
    return [] if is_slow else None


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


def _is_inner_loop(config: pytest.Config) -> bool:
    return bool(config.option.markexpr == _INNER_LOOP)


def pytest_collection() -> None:
    """Look for no garbage meanwhile: nearly all that is made is kept."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Take what was collected out of sight of the garbage collector: it lives to the end."""
    gc.enable()
    gc.freeze()
