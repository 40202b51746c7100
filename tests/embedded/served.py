"""`cs serve --sandbox` as a process of its own, and callers of it."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

STARTED = re.compile(r"serving (\S+), health at (\S+),")


@dataclass
class Served:
    process: subprocess.Popen[str]
    base_url: str
    admin_url: str
    folder: Path

    def new_key(self, quota: int = 10) -> dict[str, Any]:
        told = cs("keys", "create", "--json", f"--quota={quota}", f"--data-dir={self.folder}")
        made: dict[str, Any] = msgspec.json.decode(told)
        return made

    def client(self, key: dict[str, Any]) -> httpx.Client:
        return httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key['key']}"},
            timeout=130,
        )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


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
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "cs", "serve", "--sandbox"),
            *("--port=0", "--admin-port=0", f"--data-dir={folder}", *options),
        ],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"COLUMNS": "400", "CS_LOG_LEVEL": "error"} | environment,
    )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        started = STARTED.match(line)
        assert started is not None, line
        yield Served(process, started[1], started[2], folder)
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=30)


def stored_topics(folder: Path) -> list[str]:
    """Return the topics of the log's events, in order, as another process sees them."""
    with sqlite3.connect(f"file:{folder / 'log.db'}?mode=ro", uri=True) as log:
        rows = log.execute("SELECT topic FROM stored_events ORDER BY rowid").fetchall()
    return [topic for (topic,) in rows]
