"""One role of the cluster: a process that is started, watched and ended by its id."""

import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from harness.servers.own_folder import PID

#: A role that has not said that it runs by then never will.
READY_S = 60.0
#: Lines of a role that are shown when something is wrong with it.
SHOWN = 30


class NotRunning(Exception):
    """A role ended, or never ran; the message has its last lines."""


@dataclass
class RoleProcess:
    """``cs`` with *words*, its words on stderr kept in the file *log*."""

    name: str
    words: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    ready_word: str = " runs"
    starts: int = 0
    _process: subprocess.Popen[str] | None = None
    _ready: threading.Event = field(default_factory=threading.Event)
    _last: deque[str] = field(default_factory=lambda: deque(maxlen=SHOWN))

    def start(self) -> None:
        """Start it; `wait_ready` tells when it works."""
        assert not self.runs, f"{self.name} runs already"
        self._ready = threading.Event()
        self.starts += 1
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cs", *self.words],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for whoever started the cluster
        )
        self.log.with_suffix(PID).write_text(str(self._process.pid))
        threading.Thread(
            target=self._follow, args=(self._process, self._ready), daemon=True
        ).start()

    def _follow(self, process: subprocess.Popen[str], ready: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr, self.log.open("a") as kept:
            for line in process.stderr:
                kept.write(line)
                kept.flush()
                self._last.append(line.rstrip())
                if self.ready_word in line and not line.startswith("{"):
                    ready.set()
        process.wait()
        ready.set()  # ended; whoever waits looks whether it runs

    def wait_ready(self, timeout_s: float = READY_S) -> None:
        """Return once it works.

        Raises:
            NotRunning: It ended instead, or says nothing.
        """
        if not self._ready.wait(timeout_s) or not self.runs:
            raise NotRunning(f"{self.name} does not run:\n" + "\n".join(self._last))

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def is_ready(self) -> bool:
        """Whether it has said that it works since it was last started."""
        return self.runs and self._ready.is_set()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def last_line(self) -> str:
        """What it said last, since it was first started."""
        return self._last[-1] if self._last else ""

    @property
    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def kill(self) -> None:
        """End it with SIGKILL, whatever it does."""
        self._send(signal.SIGKILL)
        self._wait()

    def terminate(self, timeout_s: float = 20.0) -> int:
        """End it with SIGTERM; return its exit code."""
        self._send(signal.SIGTERM)
        return self._wait(timeout_s)

    def suspend(self) -> None:
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def wait_end(self, timeout_s: float = READY_S) -> int:
        """Return its exit code once it has ended by itself and all it said is kept."""
        code = self._wait(timeout_s)
        self._ready.wait(timeout_s)
        return code

    def end(self) -> None:
        """End it for good: politely, then not; also one that is suspended."""
        if not self.runs:
            return
        self._send(signal.SIGCONT)
        self._send(signal.SIGTERM)
        try:
            self._wait(10.0)
        except subprocess.TimeoutExpired:
            self.kill()

    def _send(self, number: signal.Signals) -> None:
        if self.runs:
            with suppress(ProcessLookupError):  # it ended by itself just now
                os.kill(self.pid, number)

    def _wait(self, timeout_s: float | None = None) -> int:
        assert self._process is not None
        return self._process.wait(timeout_s)
