"""`cs serve --sandbox` as a process of its own, and what it says on standard error."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from cli.command import ran, started

STARTED = re.compile(r"serving (\S+), health at (\S+),")


@dataclass
class Served:
    process: subprocess.Popen[str]
    folder: Path
    said: list[str] = field(default_factory=list)
    url: str = ""
    admin_url: str = ""

    def wait_until_serving(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if found := STARTED.match(line):
                self.url, self.admin_url = found.groups()
                return
        raise AssertionError(f"it did not start: {self.said}")

    def ended(self, timeout_s: float) -> int:
        """Return the exit code, which has to come in time; collect what was said."""
        _, err = self.process.communicate(timeout=timeout_s)
        self.said.append(err)
        return self.process.returncode

    @property
    def told(self) -> str:
        return "".join(self.said)

    def keys(self, *words: str) -> dict[str, Any]:
        made = ran("keys", *words, "--json", f"--data-dir={self.folder}")
        assert made.code == 0, made
        return made.rows[0]

    def client(self, key: dict[str, Any]) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key['key']}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=100, trust_env=False)


@contextmanager
def served(folder: Path, *options: str, **environment: str) -> Iterator[Served]:
    """Serve the bundled world on free ports until left; the process is gone afterwards."""
    where = ("--port=0", "--admin-port=0", f"--data-dir={folder}")
    process = started("serve", "--sandbox", *where, *options, **environment)
    try:
        service = Served(process, folder)
        service.wait_until_serving()
        yield service
    finally:
        process.kill()
        process.communicate()
