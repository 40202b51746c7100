"""Every test of the suite runs against the deployment that the environment names.

Without one, against a service of our own in one process, and in part against a cluster;
``CS_CONFORMANCE=cluster`` runs all of it against a cluster (ten minutes),
``CS_CONFORMANCE="embedded cluster"`` against both.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.target import URLS, Caller, Target, from_environment

HERE = Path(__file__).parent
FORM = "CS_CONFORMANCE"
GIVEN = "given"
FORMS = [GIVEN] if URLS in os.environ else os.environ.get(FORM, "embedded cluster").split()
#: Without `CS_CONFORMANCE` a cluster is tested with these files, in which time is not moved:
#: over several processes that takes real time, ten minutes for all.
ON_A_CLUSTER = {"test_body.py", "test_http.py"}
MOVING = {"fresh", "records"}
collect_ignore = ["sandboxes.py"] if FORMS == [GIVEN] else []  # needs the service at hand


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): rows of contract.toml that the test shows")
    if FORMS != [GIVEN]:
        config.pluginmanager.import_plugin("conformance.sandboxes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long on a cluster, unless it is asked for."""
    if FORM in os.environ or FORMS == [GIVEN]:
        return
    later = [item for item in items if "[cluster" in item.name and _takes_long(item)]
    config.hook.pytest_deselected(items=later)
    items[:] = [item for item in items if item not in later]


def _marks(form: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.slow, *([pytest.mark.on_a_cluster] if form == "cluster" else [])]


def _takes_long(item: pytest.Item) -> bool:
    return (
        HERE in item.path.parents
        and isinstance(item, pytest.Function)
        and (item.path.name not in ON_A_CLUSTER or bool(MOVING & set(item.fixturenames)))
    )


@pytest.fixture(
    scope="session", params=[pytest.param(form, marks=_marks(form)) for form in FORMS]
)
def target(request: pytest.FixtureRequest) -> Target:
    """The deployment."""
    of_form: Target = request.getfixturevalue(f"{request.param}_target")
    return of_form


@pytest.fixture(scope="session")
def given_target() -> Iterator[Target]:
    with from_environment(os.environ) as target:
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
