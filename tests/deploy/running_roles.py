"""A service of compose.yaml as a process of this machine, with what it would find there."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cli.command import environment
from harness.forked_process import run_command
from harness.service_process import ServiceProcess

START_S = 40
_LOOK_S = 0.2
_ADMIN = "127.0.0.1:8081"


class Container:
    """One service of compose.yaml.

    Args:
        service: As the file has it.
        here: What stands in the file and what it is on this machine: addresses, folders.
        port: Instead of 8081, the admin port, which every container has for itself.
        log: Where it writes.
    """

    def __init__(
        self, service: dict[str, Any], here: Mapping[str, str], port: int, log: Path
    ) -> None:
        self._service = service
        self._here = {**here, _ADMIN: f"127.0.0.1:{port}"}
        self._own = {"CS_ADMIN_PORT": str(port), "CS_PORT": "0"}
        self._log = log

    @property
    def output(self) -> str:
        return self._log.read_text()

    def run(self) -> None:
        """Run to its end.

        Raises:
            CalledProcessError: It failed.
        """
        run_command(self._words(), self._environment())

    @contextmanager
    def running(self) -> Iterator[ServiceProcess]:
        words = self._words()
        process = ServiceProcess(words[0], words, self._environment(), log_file=self._log)
        process.start()
        try:
            yield process
        finally:
            process.kill()

    def becomes_healthy(self, process: ServiceProcess) -> bool:
        """Ask by the file's own health check until it is, or has ended."""
        mark, python, *words = self._service["healthcheck"]["test"]
        assert (mark, python) == ("CMD", "python")
        check = [sys.executable, *map(self._of_here, words)]
        give_up = time.monotonic() + START_S
        while time.monotonic() < give_up:
            if not subprocess.run(check, capture_output=True, check=False).returncode:
                return True
            try:
                process.wait(_LOOK_S)
            except subprocess.TimeoutExpired:
                continue
            return False
        return False

    def stop(self, process: ServiceProcess) -> int:
        """Stop it as an engine does; return the exit code."""
        process.send(signal.Signals[self._service["stop_signal"]])
        seconds: str = self._service["stop_grace_period"]
        return process.wait(int(seconds.removesuffix("s")))

    def _words(self) -> list[str]:
        return [*map(self._of_here, self._service["command"])]

    def _environment(self) -> dict[str, str]:
        given = self._service.get("environment", {})
        values = {name: self._of_here(value) for name, value in given.items()}
        return environment(**(values | self._own)) | {"PATH": os.environ["PATH"]}

    def _of_here(self, word: str) -> str:
        for there, here in self._here.items():
            word = word.replace(there, here)
        return word
