"""`cs`, or another module, as a process: started, ready, watched and ended by its id."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.forked_process import ForkedProcess, can_fork
from harness.servers.own_folder import PID

#: Time limit for the line with which a process reports that it works.
READY_S = 60.0
#: Within which it ends after SIGTERM.
STOP_S = 30.0
#: Lines of a process that are shown when something is wrong with it.
SHOWN = 30
#: What a role prints for people, and not as a line of its log, once it works.
ROLE_RUNS = re.compile(r"(?!\{).* runs")


class NotRunning(Exception):
    """A process ended, or never worked; the message has its last lines."""


@dataclass
class ServiceProcess:
    """``python -m MODULE`` with *words*; `start` may be called again once it has ended.

    Standard error is read all the time, so that a full pipe never stops it: into `lines`,
    over all its lives, and into *log_file* if there is one.  In a test run it is forked from a
    process that has the service imported, unless it has a launcher or a setting of Python's.

    Attributes:
        environment: All of it; a change is for the next start.
        ready: Matches the line that says that it works.
        launcher: A command that becomes it, as ``sh -c 'ulimit -n 256; exec "$@"' sh``.
        on_change: Called in another thread when it works, and when it has ended.
        forked: Whether it is forked outside of a test run, too.
        ready_line: What *ready* matched since it was last started; None: nothing yet.
    """

    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    log_file: Path | None = None
    ready: re.Pattern[str] = ROLE_RUNS
    module: str = "cs"
    launcher: Sequence[str] = ()
    on_change: Callable[[], None] | None = None
    forked: bool = False
    starts: int = 0
    lines: list[str] = field(default_factory=list)
    ready_line: re.Match[str] | None = None
    _process: "subprocess.Popen[str] | ForkedProcess | None" = None
    _ready: threading.Event = field(default_factory=threading.Event)
    _reader: threading.Thread | None = None

    def start(self) -> None:
        """Start it; `wait_ready` returns when it works."""
        assert not self.runs, f"{self.name} runs already"
        self._ready, self.ready_line = threading.Event(), None
        self.starts += 1
        self._process = self._launched()
        if self.log_file:
            self.log_file.with_suffix(PID).write_text(str(self._process.pid))
        self._reader = threading.Thread(
            target=self._read, args=(self._process, self._ready), daemon=True
        )
        self._reader.start()

    def _launched(self) -> "subprocess.Popen[str] | ForkedProcess":
        if (self.forked or can_fork(self.environment)) and not self.launcher:
            return ForkedProcess(self.module, self.words, self.environment)
        return subprocess.Popen(
            [*self.launcher, sys.executable, "-m", self.module, *self.words],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the process that started it
        )

    def _read(
        self, process: "subprocess.Popen[str] | ForkedProcess", ready: threading.Event
    ) -> None:
        assert process.stderr is not None
        with process.stderr, (self.log_file or Path(os.devnull)).open("a") as log:
            for line in process.stderr:
                log.write(line)
                log.flush()
                self.lines.append(line)
                if not ready.is_set() and (found := self.ready.match(line)):
                    self.ready_line = found
                    ready.set()
                    self._changed()
        process.wait()
        ready.set()  # ended: `wait_ready` checks whether it runs
        self._changed()

    def _changed(self) -> None:
        if self.on_change is not None:
            self.on_change()

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        """Return once it works.

        Raises:
            NotRunning: It ended instead, or says nothing.
        """
        if not self._ready.wait(timeout_s) or self.ready_line is None or not self.runs:
            raise NotRunning(f"{self.name} does not run:\n" + "".join(self.lines[-SHOWN:]))

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether it has reported that it works since it was last started."""
        return self.runs and self.ready_line is not None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was not started"
        return self._process.pid

    @property
    def log(self) -> Path:
        """The file that it was given for its lines."""
        assert self.log_file is not None, "it was given none"
        return self.log_file

    @property
    def output(self) -> str:
        """All it wrote on standard error; complete once `wait`, `stop` or `kill` returned."""
        return "".join(self.lines)

    @property
    def last_line(self) -> str:
        """What it wrote last, since it was first started."""
        return self.lines[-1].rstrip() if self.lines else ""

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def wait(self, timeout_s: float = READY_S) -> int:
        """Wait until it has ended by itself; return the exit code, -9 for SIGKILL.

        Raises:
            subprocess.TimeoutExpired: It runs on.
        """
        assert self._process is not None, "it was not started"
        assert self._reader is not None, "it was not started"
        code = self._process.wait(timeout_s)
        self._reader.join(timeout_s)  # the rest of what it wrote
        return code

    def stop(self, timeout_s: float = STOP_S) -> int:
        """End it with SIGTERM, as an operator does; return the exit code.

        Raises:
            subprocess.TimeoutExpired: It does not end in time.
        """
        self.send(signal.SIGTERM)
        return self.wait(timeout_s)

    def kill(self) -> None:
        """End it with SIGKILL, if it runs."""
        self.send(signal.SIGKILL)
        if self._process is not None:
            self.wait()

    def suspend(self) -> None:
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.send(signal.SIGCONT)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.runs:
            with suppress(ProcessLookupError):  # it ended by itself just now
                os.kill(self.pid, number)

    def end(self) -> None:
        """End it for good: politely, then not; also one that is suspended."""
        if not self.runs:
            return
        self.resume()
        try:
            self.stop(10.0)
        except subprocess.TimeoutExpired:
            self.kill()
