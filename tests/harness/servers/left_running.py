"""A pytest plug-in: nothing that a test run has started outlives it.

Everything that the run starts inherits a mark in its environment.  When the last test has
ended, whatever still has it is given a moment to end by itself, then named and killed, and
the run has failed.
"""

import os
import secrets
import signal
import time
from collections.abc import Generator, Iterator
from contextlib import suppress

import pytest

from harness.servers.processes import command_line, started_with

_MARK = "TEST_RUN_OF_CONTACT_SEARCH"
#: The keeper of a shared server ends it once the last worker has left.
TO_END_S = 40.0
_LOOK_S = 0.05
_LEFT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    if _MARK not in os.environ:  # else it is a worker, or a run inside a test
        os.environ[_MARK] = secrets.token_hex(16)
        config.stash[_LEFT] = []


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, None, None]:
    yield
    if _LEFT in session.config.stash and not hasattr(session.config, "workerinput"):
        session.config.stash[_LEFT] = ended(os.environ.pop(_MARK))
        if session.config.stash[_LEFT]:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(_LEFT, []):
        terminalreporter.write_line(f"LEFT RUNNING by the tests, killed now: {line}", red=True)


def ended(run: str) -> list[str]:
    """Return the ids and command lines of what *run* left running, killed by now."""
    give_up = time.monotonic() + TO_END_S
    while list(still_running(run)) and time.monotonic() < give_up:
        time.sleep(_LOOK_S)
    left = [f"{pid} {command_line(pid)}" for pid in still_running(run)]
    for pid in still_running(run):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return left


def still_running(run: str) -> Iterator[int]:
    """Yield the processes of *run* that run; one that ended unwaited for has no words left."""
    return (pid for pid in started_with(_MARK, run) if pid != os.getpid() and command_line(pid))
