"""Every test of the suite runs against the deployment that the environment names.

Without one, against a service of our own in one process; ``CS_CONFORMANCE=cluster`` runs it
against a cluster instead (ten minutes), ``CS_CONFORMANCE="embedded cluster"`` against both.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.cluster import Cluster
from conformance.sandboxes import clustered, embedded
from conformance.target import (
    ADMIN,
    CEILING,
    CEILING_ADMIN,
    CEILING_COMMAND,
    COMMAND,
    KEYS,
    MARGIN,
    URLS,
    Caller,
    Target,
    from_environment,
)

FORM = "CS_CONFORMANCE"
OURS = {FORM, URLS, ADMIN, COMMAND, KEYS, MARGIN, CEILING, CEILING_ADMIN, CEILING_COMMAND}
FORMS = ["given"] if URLS in os.environ else os.environ.get(FORM, "embedded").split()


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): rows of contract.toml that the test shows")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the suite's test of itself where a deployment is to be tested."""
    if URLS not in os.environ:
        return
    of_itself = [item for item in items if item.path.name == "test_broken_servers.py"]
    config.hook.pytest_deselected(items=of_itself)
    items[:] = [item for item in items if item not in of_itself]


@pytest.fixture(
    scope="session", params=[pytest.param(f, marks=pytest.mark.slow) for f in FORMS]
)
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """The deployment."""
    folder: Path = tmp_path_factory.mktemp("conformance")
    named = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        for variable in OURS & named.keys():
            patch.delenv(variable)  # the service refuses settings that it does not know
        match request.param:
            case "given":
                with from_environment(named) as given:
                    yield given
            case "cluster":
                cluster: Cluster = request.getfixturevalue("two_nodes")
                with clustered(cluster) as target:
                    yield target
            case _:
                with embedded(folder) as target:
                    yield target


@pytest.fixture
def caller(target: Target) -> Caller:
    """A caller with a fresh key and quota to spare."""
    return target.caller()


@pytest.fixture
def fresh(target: Target) -> Target:
    """The deployment with nothing to reuse and nothing that runs."""
    target.a_month_later()
    return target
