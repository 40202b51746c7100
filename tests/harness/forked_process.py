"""``python -m MODULE`` as a process of its own, forked from one that has the service imported.

For a test run only: it is a pytest plug-in, which ends the fork server of each worker with the
run.  How a command itself starts, from nothing, is tested in `tests/cli/`.
"""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import msgspec

from harness.fork_server import Request

#: For the fork server to end once its last child has.
_END_S = 10.0


@dataclass
class ForkServer:
    """Started when the first process is wanted.

    Attributes:
        orphans_s: What runs on so long after `close`, or the end of this process, is killed;
            `left_running` waits less before it names it.
    """

    orphans_s: float = 60.0
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _process: "subprocess.Popen[bytes] | None" = None
    _requests: socket.socket | None = None

    def fork(self, request: Request, descriptors: Sequence[int]) -> None:
        socket.send_fds(self.started(), [msgspec.json.encode(request)], descriptors)

    def started(self) -> socket.socket:
        with self._starting:
            if self._requests is None:
                self._requests = self._start()
            return self._requests

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Unbuffered, Python would hide what a command forgets to flush.
        kept = {name: v for name, v in os.environ.items() if name != "PYTHONUNBUFFERED"}
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "harness.fork_server"),
                    *(str(theirs.fileno()), str(self.orphans_s)),
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C is for the tests, which end what they started
            )
        return ours

    def close(self) -> None:
        """Let it end, which it does with its last child."""
        if self._requests is None or self._process is None:
            return
        self._requests.close()
        self._requests = None
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)


#: Of this process.
_server = ForkServer()


class ForkedProcess:
    """Like a `subprocess.Popen`, in a session of its own.

    Args:
        module: What ``python -m`` would run.
        words: Its arguments.
        env: All of its environment.
        stdin: The descriptor of a file to read standard input from; without one it is empty.
        stdout: The descriptor of a file to write standard output to, if anybody wants it.
        server: What it is forked by.

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
        server: ForkServer = _server,
    ) -> None:
        self._name = f"{module} {' '.join(words)}"
        self._returncode: int | None = None
        self._reading = threading.Lock()
        request = Request(module, [*words], dict(env), str(Path.cwd()))
        with ExitStack() as of_the_child:
            status, stderr = _pipe(of_the_child), _pipe(of_the_child)
            null = os.open(os.devnull, os.O_RDWR)
            of_the_child.callback(os.close, null)
            read_from = null if stdin is None else stdin
            write_to = null if stdout is None else stdout
            server.fork(request, [read_from, write_to, stderr.writing, status.writing])
        self._status = status.reading
        weakref.finalize(self, os.close, self._status)
        self.stderr: IO[str] = os.fdopen(stderr.reading)
        self.pid = self._number()

    def poll(self) -> int | None:
        """Return the exit code, -9 for SIGKILL; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code once it has ended; several threads may wait.

        Raises:
            subprocess.TimeoutExpired: It runs after *timeout* seconds.
        """
        if self._returncode is not None:  # read before: the pipe may be empty, and still open
            return self._returncode
        ended = select.poll()
        ended.register(self._status, select.POLLIN)
        if not ended.poll(None if timeout is None else timeout * 1000):
            raise subprocess.TimeoutExpired(self._name, timeout or 0)
        with self._reading:
            if self._returncode is None:
                self._returncode = self._number()
        return self._returncode

    def _number(self) -> int:
        """Read a line of the server's, byte by byte: the next may be there already."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._status, 1)
            assert byte, f"the fork server ended before {self._name}"
            line += byte
        return int(line)


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
        done.check_returncode()
    return done


@dataclass(frozen=True)
class _Pipe:
    reading: int
    writing: int


def _pipe(of_the_child: ExitStack) -> _Pipe:
    """Return a pipe to write into for the child, whose end is closed here on leaving."""
    pipe = _Pipe(*os.pipe())
    of_the_child.callback(os.close, pipe.writing)
    return pipe


def can_fork(env: Mapping[str, str]) -> bool:
    """Whether a process with *env* may be forked.

    Not outside a test run, where nobody would end the fork server, and not where *env* has
    something to say to an interpreter that starts, as ``PYTHONPATH``.
    """
    for_python = {name: value for name, value in env.items() if name.startswith("PYTHON")}
    return _in_a_test_run.is_set() and for_python.items() <= os.environ.items()


_in_a_test_run = threading.Event()


def pytest_configure() -> None:
    _in_a_test_run.set()


def pytest_sessionfinish() -> None:
    _in_a_test_run.clear()
    _server.close()
