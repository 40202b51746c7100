"""`cs serve --sandbox` as a process of its own, and callers of it."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx

from system.embedded.made_keys import key_in

STARTED = re.compile(r"serving (\S+), health at (\S+),")


@dataclass
class Served:
    folder: Path
    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    base_url: str = ""
    admin_url: str = ""
    at_once_s: float = 5.0  # far less than the waits that a clock is moved past
    margin: timedelta = timedelta(seconds=1)  # for a call just before something ends
    _process: "subprocess.Popen[str] | None" = None

    def start(self) -> None:
        """Serve on free ports, and return when calls are answered."""
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "cs", "serve", "--sandbox"),
                *("--port=0", "--admin-port=0", f"--data-dir={self.folder}", *self.options),
            ],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "400", "CS_LOG_LEVEL": "error", **self.environment},
        )
        assert self._process.stderr is not None
        line = self._process.stderr.readline()
        started = STARTED.match(line)
        assert started is not None, line
        self.base_url, self.admin_url = started.groups()

    @property
    def process(self) -> "subprocess.Popen[str]":
        assert self._process is not None, "it was not started"
        return self._process

    @property
    def urls(self) -> list[str]:
        """Where calls are answered, with /v1."""
        return [self.base_url]

    @property
    def clock_url(self) -> str:
        return self.admin_url.removesuffix("/readyz") + "/sandbox/clock"

    def new_key(self, quota: int = 10) -> dict[str, Any]:
        return key_in(self.folder, quota)

    def command(self, *words: str) -> str:
        """Run the command beside the service and return what it printed."""
        return cs(*words, f"--data-dir={self.folder}")

    def stored_topics(self) -> list[str]:
        return stored_topics(self.folder)

    def client(self, key: dict[str, Any]) -> httpx.Client:
        return httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key['key']}"},
            timeout=130,
        )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        with self.process:
            pass  # waits, and closes the pipe

    def end(self) -> None:
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.terminate()
            self._process.communicate(timeout=30)
        with self._process:
            pass


def cs(*arguments: str) -> str:
    """Run the command and return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "cs", *arguments],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return ran.stdout


@contextmanager
def served(folder: Path, *options: str, **environment: str) -> Iterator[Served]:
    """Serve on free ports until left; the process is gone afterwards."""
    service = Served(folder, options, environment)
    try:
        service.start()
        yield service
    finally:
        service.end()


def stored_topics(folder: Path) -> list[str]:
    """Return the topics of the log's events, in order, as another process sees them."""
    with sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True) as log:
        rows = log.execute("SELECT topic FROM stored_events ORDER BY rowid").fetchall()
    return [topic for (topic,) in rows]
