"""A whole service as a process, `cs serve`, and callers of it."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

from cli.command import environment
from harness.api_keys import key_in
from harness.forked_process import run_command
from harness.service_process import ServiceProcess

_SERVING = re.compile(r"serving (\S+), health at (\S+)/readyz,")


class Served(ServiceProcess):
    """``cs serve`` on a data folder and on free ports; inside its ``with`` it runs.

    On leaving it has to end in time when it is asked to, or is killed and the test fails.

    Args:
        folder: Where its data is; another start goes on with it.
        options: Of the command, besides the ports and the folder.
        settings: More of its environment; nothing of a service's is taken from ours.
        sandbox: Whether its world is the bundled one.
        launcher: As `ServiceProcess` has it.
    """

    def __init__(
        self,
        folder: Path,
        options: Sequence[str] = (),
        settings: Mapping[str, str] = MappingProxyType({}),
        *,
        sandbox: bool = True,
        launcher: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        world = ("--sandbox",) if sandbox else ()
        self.where = ("--port=0", "--admin-port=0", f"--data-dir={folder}")
        super().__init__(
            "serve",
            ("serve", *world, *self.where, *options),
            environment(COLUMNS="400", **settings),  # no line of it is broken
            ready=_SERVING,
            launcher=launcher,
        )

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.stop()
        finally:
            self.kill()

    def start(self, *, wait: bool = True) -> None:
        """Start it, and return when calls are answered, or at once."""
        super().start()
        if wait:
            self.wait_ready()

    def restart(self) -> None:
        """Kill it, and start it again, on other ports."""
        self.kill()
        self.start()

    @property
    def base_url(self) -> str:
        """Where calls are answered, with /v1."""
        assert self.ready_line is not None, "it does not serve"
        return self.ready_line[1]

    @property
    def urls(self) -> list[str]:
        return [self.base_url]

    @property
    def address(self) -> tuple[str, int]:
        """Host and port, for callers who open a socket."""
        at = urlsplit(self.base_url)
        assert at.hostname is not None
        assert at.port is not None
        return at.hostname, at.port

    @property
    def admin_url(self) -> str:
        assert self.ready_line is not None, "it does not serve"
        return self.ready_line[2]

    @property
    def clock_url(self) -> str:
        return f"{self.admin_url}/sandbox/clock"

    def ready_answer(self) -> httpx.Response:
        """Return the answer of ``/readyz``."""
        return httpx.get(f"{self.admin_url}/readyz", trust_env=False)

    def new_key(self, quota: int = 10) -> dict[str, Any]:
        """Return a new API key: its ``id`` and secret ``key``."""
        return key_in(self.folder, quota)

    def client(self, key: dict[str, Any]) -> httpx.Client:
        return httpx.Client(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {key['key']}"},
            timeout=130,
            trust_env=False,
        )

    def command(self, *words: str) -> str:
        """Run ``cs`` with *words*, while the service runs; return what it prints."""
        return cs(*words, f"--data-dir={self.folder}")


def served(folder: Path, *options: str, **settings: str) -> Served:
    """Return a service on the sandbox, for a ``with``."""
    return Served(folder, options, settings)


def cs(*words: str) -> str:
    """Run the command, which must succeed; return what it prints."""
    return run_command(words, environment()).stdout
