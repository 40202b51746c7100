"""Every test of the suite runs against the deployment that the environment names.

Without one, against a service of our own in one process; ``CS_CONFORMANCE=cluster`` runs it
against a cluster instead (ten minutes), ``CS_CONFORMANCE="embedded cluster"`` against both.
"""

import os
from collections.abc import Iterator

import pytest

from conformance.target import URLS, Caller, Target, from_environment

FORM = "CS_CONFORMANCE"
GIVEN = "given"
FORMS = [GIVEN] if URLS in os.environ else os.environ.get(FORM, "embedded").split()
#: What tests the suite itself needs the service at hand.
OF_THE_SERVICE = ["sandboxes.py", "broken_service.py", "test_broken_servers.py"]
collect_ignore = OF_THE_SERVICE if FORMS == [GIVEN] else []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(*ids): rows of contract.toml that the test shows")
    if FORMS != [GIVEN]:
        config.pluginmanager.import_plugin("conformance.sandboxes")


@pytest.fixture(
    scope="session", params=[pytest.param(f, marks=pytest.mark.slow) for f in FORMS]
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
