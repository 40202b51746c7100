"""``python -m MODULE`` as a process of its own, forked from one that has the service imported.

An interpreter that imports the service takes 0.9 s of processor before it does anything; one
that is forked takes 0.3 s to the same point (`cs serve --sandbox` to its first line).  Tests
start the service some five hundred times.  How a command itself starts, from nothing, is
tested in `tests/cli/`.
"""

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import connection, forkserver, reduction, resource_tracker
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["harness.preloaded"])
#: Of `_context`, whose processes are read by whichever thread starts one.
_lock = threading.Lock()


class ForkedProcess:
    """Like a `subprocess.Popen`, in a session of its own.

    Args:
        module: What ``python -m`` would run.
        words: Its arguments.
        env: All of its environment.
        stdin: The descriptor of a file to read standard input from; without one it is empty.
        stdout: The descriptor of a file to write standard output to, if it is wanted.

    Attributes:
        pid: Its process id.  The process is no child of this one: `os.waitpid` does not do.
        stderr: What it writes on standard error, as text.
    """

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        env: Mapping[str, str],
        *,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> None:
        self._name = f"{module} {' '.join(words)}"
        reading, writing = os.pipe()
        null = os.open(os.devnull, os.O_RDWR)
        streams = [null if stdin is None else stdin, null if stdout is None else stdout]
        request = _Request(module, [*words], dict(env), str(Path.cwd()))
        descriptors = [_Descriptor(number) for number in (*streams, writing)]
        self._process = _context.Process(target=_become, args=(request, descriptors))
        try:
            with _lock:
                _start_server()
                self._process.start()
        finally:
            os.close(null)
            os.close(writing)
        self.stderr: IO[str] = os.fdopen(reading)
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, -9 for SIGKILL; None while it runs."""
        with _lock:
            return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended; several threads may wait.

        Raises:
            subprocess.TimeoutExpired: It runs after *timeout* seconds.
        """
        connection.wait([self._process.sentinel], timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(self._name, timeout or 0)
        return code


def run_command(
    words: Sequence[str],
    env: Mapping[str, str],
    timeout_s: float = 120.0,
    *,
    stdin: str = "",
    check: bool = True,
) -> "subprocess.CompletedProcess[str]":
    """Run ``cs`` with *words* to its end, in a process of its own.

    Raises:
        subprocess.CalledProcessError: It failed, and *check* is true.
        subprocess.TimeoutExpired: It could not be forked, and was killed after *timeout_s*;
            one that was forked has failed then.
    """
    if not can_fork(env):
        return subprocess.run(
            [sys.executable, "-m", "cs", *words],
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            check=check,
            timeout=timeout_s,
        )
    with TemporaryFile("w+") as read, TemporaryFile("w+") as stdout:
        read.write(stdin)
        read.seek(0)
        process = ForkedProcess("cs", words, env, stdin=read.fileno(), stdout=stdout.fileno())
        killing = threading.Timer(timeout_s, os.kill, (process.pid, signal.SIGKILL))
        killing.start()
        try:
            with process.stderr:
                stderr = process.stderr.read()
            code = process.wait(timeout_s)
        finally:
            killing.cancel()
        stdout.seek(0)
        done = subprocess.CompletedProcess(["cs", *words], code, stdout.read(), stderr)
    if check:
        try:
            done.check_returncode()
        except subprocess.CalledProcessError as error:
            error.add_note(stderr)
            raise
    return done


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether a process with *env* may be forked.

    Only in a test run, and not where *env* has a setting for an interpreter that starts, such
    as ``PYTHONPATH``.
    """
    for_python = {name: value for name, value in env.items() if name.startswith("PYTHON")}
    return "pytest" in sys.modules and for_python.items() <= os.environ.items()


def _start_server() -> None:
    """Start the server, if it does not run, with the modules that this process can import."""
    server = cast("Any", forkserver._forkserver)
    if server._forkserver_pid is not None:
        return
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        server.ensure_running()
    finally:
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def pytest_sessionfinish() -> None:
    """End the server, of a run without workers too: nothing that a run started outlives it."""
    for server in (forkserver._forkserver, resource_tracker._resource_tracker):
        cast("Any", server)._stop()


@dataclass(frozen=True)
class _Request:
    module: str
    words: list[str]
    environment: dict[str, str]
    folder: str


@dataclass(frozen=True)
class _Descriptor:
    """A file descriptor, another number of the same file in the process that is started."""

    number: int

    def __reduce__(self) -> Any:
        return _received, (reduction.DupFd(self.number),)


def _received(duplicate: Any) -> _Descriptor:
    return _Descriptor(duplicate.detach())


def _become(request: _Request, streams: Sequence[_Descriptor]) -> None:
    """Take over what a new process is given; nothing of the server stays open."""
    assert "harness.preloaded" in sys.modules, "the server has imported the service"
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream.number, number)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  multiprocessing has closed it
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    sys.argv = [request.module, *request.words]
    try:
        runpy.run_module(request.module, run_name="__main__", alter_sys=True)
    finally:
        with suppress(Exception):  # as `python` does: each is printed
            atexit._run_exitfuncs()
