"""Servers that all processes of a test run share, and the end of all that a run started.

A pytest plug-in.  The process that the run was started as makes a folder for the servers; the
first worker that needs one starts it there.  Everything that the run starts inherits the
folder's name in its environment.  When the last test has ended the servers are ended; whatever
else still runs is given a moment, then named and killed, and the run has failed.
"""

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.servers.missing import Missing
from harness.servers.own_folder import own_folder
from harness.servers.processes import command_line, end, started_with

_FOLDER = "CS_TEST_RUN_FOLDER"
#: Time that what a run started has to end by itself once the last test has ended.
TO_END_S = 40.0
_LOOK_S = 0.05
_OWNED = pytest.StashKey[ExitStack]()
_LEFT = pytest.StashKey[list[str]]()


#: Servers that this process has started: Python warns of a child that nothing refers to.
_started: list[object] = []


def shared(name: str, start: Callable[[Path], tuple[object, str]]) -> str:
    """Return the address of the server *name* of this run.

    Args:
        name: Of its folder.
        start: Starts it in a folder and returns it with its address; called once in a run.

    Raises:
        Missing: The machine cannot run it, as the first worker found that tried to.
    """
    folder = Path(os.environ[_FOLDER])
    address, missing = folder / f"{name}.address", folder / f"{name}.missing"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists() and not missing.exists():
            try:
                server, at = start(folder / name)
                _started.append(server)
                address.write_text(at)
            except Missing as error:
                missing.write_text(str(error))
    if missing.exists():
        raise Missing(missing.read_text())
    return address.read_text()


def pytest_configure(config: pytest.Config) -> None:
    if _FOLDER not in os.environ:  # else it is a worker, or a run inside a test
        config.stash[_OWNED] = ExitStack()
        os.environ[_FOLDER] = str(config.stash[_OWNED].enter_context(own_folder()))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if _OWNED not in session.config.stash:
        return
    run = os.environ.pop(_FOLDER)
    session.config.stash[_OWNED].close()
    give_up = time.monotonic() + TO_END_S
    while (left := _running(run)) and time.monotonic() < give_up:
        time.sleep(_LOOK_S)
    session.config.stash[_LEFT] = [f"{pid} {command_line(pid)}" for pid in left]
    end(left, within_s=1.0)
    if left:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in config.stash.get(_LEFT, []):
        terminalreporter.write_line(f"LEFT RUNNING by the tests, killed now: {line}", red=True)


def _running(run: str) -> list[int]:
    return [pid for pid in started_with(_FOLDER, run) if pid != os.getpid()]
