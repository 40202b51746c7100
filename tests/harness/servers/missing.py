"""What this machine lacks, and what becomes of the tests that need it.

A pytest plug-in: a test that meets `Missing`, in a fixture or in itself, is skipped with the
reason; with `CS_TEST_DEMAND_SERVERS=1` it fails.
"""

import os
from collections.abc import Generator

import pytest


class Missing(Exception):
    """What is not there and what to do about it, in one sentence each."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    return (yield from _skipped_if_missing())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    return (yield from _skipped_if_missing())


def _skipped_if_missing() -> Generator[None, object, object]:
    try:
        return (yield)
    except Missing as missing:
        if os.environ.get("CS_TEST_DEMAND_SERVERS"):
            pytest.fail(str(missing), pytrace=False)
        # In one line: a reason may end with the log of a server that did not start.
        pytest.skip(" | ".join(str(missing).splitlines()))
