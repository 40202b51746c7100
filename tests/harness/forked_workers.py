"""A pytest plug-in: ``--forks N`` runs the tests in N processes forked when all are collected.

Each worker of pytest-xdist starts an interpreter, imports what tests import and collects all
of them, 4 s of processor apiece before its first test.  Here that is done once.  Workers share
the tests as those of xdist's ``worksteal`` do: each goes through a part of its own, in order,
and then takes half of what another has before it.

Fixtures of a session are made by each worker, and to other plug-ins it is like one of xdist's.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from multiprocessing.connection import Connection, Pipe, wait
from multiprocessing.context import ForkContext
from multiprocessing.sharedctypes import RawArray
from typing import Any, NoReturn

import pytest

from harness.few_messages import is_unread

#: The number of no test.
NONE = -1
#: For a worker to tear down what its tests had, once a run is cut off.
_END_S = 10.0


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--forks",
        type=int,
        default=0,
        metavar="N",
        help="run the tests in N processes, forked when all tests are collected",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    options = session.config.option
    if not options.forks or options.collectonly or session.testsfailed:
        return None  # pytest does it, or says why not
    parts, workers = Parts(len(session.items), options.forks), list[_Worker]()
    session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # of all workers
    try:
        for number in range(options.forks):
            workers.append(_fork(session, parts, number))
        _report(session, parts, workers)
    finally:
        parts.leave_out_the_rest()
        for worker in workers:
            worker.end()
    return True


class Parts:
    """Who runs which of so many tests, told to several processes.

    Attributes:
        running: The number of the test that each worker runs, `NONE` between tests.
        after: The number of the one that it runs then, which nobody else is handed.
    """

    def __init__(self, tests: int, workers: int) -> None:
        self._lock = ForkContext().Lock()
        edges = [0, *accumulate(part_lengths(tests, workers))]
        self._next = RawArray("i", edges[:-1])
        self._end = RawArray("i", edges[1:])
        self.running = RawArray("i", [NONE] * workers)
        self.after = RawArray("i", [NONE] * workers)

    def of(self, worker: int) -> Iterator[int]:
        """Yield the number of each test that *worker* is to run, until none is left."""
        while (number := self._take(worker)) is not None:
            yield number

    def _take(self, worker: int) -> int | None:
        with self._lock:
            if not self._left(worker):
                self._steal(worker)
            if not self._left(worker):
                return None
            number: int = self._next[worker]
            self._next[worker] += 1
            return number

    def _steal(self, worker: int) -> None:
        """Give *worker* the second half of what is before the one that has most."""
        other = max(range(len(self._next)), key=self._left)
        middle = self._next[other] + self._left(other) // 2
        self._next[worker], self._end[worker] = middle, self._end[other]
        self._end[other] = middle

    def _left(self, worker: int) -> int:
        return int(self._end[worker] - self._next[worker])

    def leave_out_the_rest(self) -> None:
        with self._lock:
            self._end[:] = self._next[:]


def part_lengths(tests: int, workers: int) -> list[int]:
    """Return how many of *tests* each worker begins with (as xdist's `worksteal`)."""
    lengths = []
    for left in range(workers, 0, -1):
        lengths.append(tests // left)
        tests -= tests // left
    return lengths


def _fork(session: pytest.Session, parts: Parts, number: int) -> "_Worker":
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = Pipe(duplex=False)
    pid = os.fork()
    if pid == 0:
        _be_worker(session, parts, number, writing)
    writing.close()
    return _Worker(number, pid, reading)


def _be_worker(
    session: pytest.Session, parts: Parts, number: int, writing: "Connection[Any, Any]"
) -> NoReturn:
    """Run tests in this process, a copy of the one that collected, and end it.

    It ends without the interpreter's own end: some of what tests import (DuckDB, Arrow) starts
    a thread at once, which is not copied, and waits for it then.
    """
    code = pytest.ExitCode.INTERNAL_ERROR
    try:
        try:
            _set_apart(session.config, number, writing)
            _run(session, parts, number)
            code = pytest.ExitCode.OK
        except KeyboardInterrupt:
            code = pytest.ExitCode.INTERRUPTED
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=code)
        session.config._ensure_unconfigure()
    except BaseException:  # noqa: BLE001 - nothing above this is this process's own
        code = pytest.ExitCode.INTERNAL_ERROR
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _set_apart(config: pytest.Config, number: int, writing: "Connection[Any, Any]") -> None:
    name = f"gw{number}"
    os.environ["PYTEST_XDIST_WORKER"] = name
    config.workerinput = {"workerid": name}  # type: ignore[attr-defined]
    random.seed()
    # What tests print goes to files, which no two may share.
    capturing = config.pluginmanager.get_plugin("capturemanager")
    assert capturing is not None
    capturing.stop_global_capturing()
    capturing.start_global_capturing()
    capturing.suspend_global_capture()
    folders = config._tmp_path_factory  # type: ignore[attr-defined]
    folders._basetemp = folders.getbasetemp() / name
    folders._basetemp.mkdir(mode=0o700, exist_ok=True)  # of one that died
    config.pluginmanager.unregister(name="terminalreporter")
    config.pluginmanager.register(_Sender(config, writing))


class _Sender:
    """The plug-in of a worker that tells of its tests."""

    def __init__(self, config: pytest.Config, writing: "Connection[Any, Any]") -> None:
        self._config = config
        self._writing = writing

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(
            config=self._config, report=report
        )
        if not is_unread(data):
            self._writing.send(data)


def _run(session: pytest.Session, parts: Parts, worker: int) -> None:
    numbers = parts.of(worker)
    number = parts.after[worker]  # left by one that died
    if number == NONE:
        number = next(numbers, NONE)
    while number != NONE and not session.shouldfail and not session.shouldstop:
        # Fixtures that it does not share with the one after it are torn down with it.
        after = next(numbers, NONE)
        parts.running[worker], parts.after[worker] = number, after
        session.config.hook.pytest_runtest_protocol(
            item=session.items[number],
            nextitem=None if after == NONE else session.items[after],
        )
        number = after
    parts.running[worker] = NONE


@dataclass(frozen=True)
class _Worker:
    """A worker, for the process that collected."""

    number: int
    pid: int
    reading: "Connection[Any, Any]"

    def end(self) -> int:
        """Return its exit code, minus the signal that ended it; one that runs on is killed."""
        give_up_at = time.monotonic() + _END_S
        with suppress(EOFError):
            while self.reading.poll(max(0.0, give_up_at - time.monotonic())):
                self.reading.recv()
            os.kill(self.pid, signal.SIGKILL)
        self.reading.close()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)


def _report(session: pytest.Session, parts: Parts, workers: list[_Worker]) -> None:
    """Report what *workers* tell until each has ended, and is none of them any more.

    The test in which one is killed has failed; another worker goes on with its part.
    """
    hook = session.config.hook
    while workers:
        told = wait([worker.reading for worker in workers])
        for worker in [each for each in workers if each.reading in told]:
            try:
                data = worker.reading.recv()
            except EOFError:
                workers.remove(worker)
                code, running = worker.end(), parts.running[worker.number]
                if code < 0 and running != NONE:
                    hook.pytest_runtest_logreport(report=_death(session.items[running], code))
                    workers.append(_fork(session, parts, worker.number))
                elif code != pytest.ExitCode.OK:
                    session.shouldfail = f"worker {worker.number} ended with {code}"
            else:
                report = hook.pytest_report_from_serializable(config=session.config, data=data)
                hook.pytest_runtest_logreport(report=report)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)


def _death(item: pytest.Item, code: int) -> pytest.TestReport:
    """Return the report of the test in which a worker was killed by the signal -*code*."""
    told = f"the worker that ran it was killed: {signal.Signals(-code).name}"
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", told, "call")
