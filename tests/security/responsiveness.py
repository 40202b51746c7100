"""Measure how fast a served process answers while something else goes on.

A bare server of the standard library is probed as well: its slowest answer is what the machine
costs by itself, and is allowed on top.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from harness.served import Served

#: Longest time that an answer of the API or of the admin port may take during an attack.
ANSWER_S = 0.5
#: After this a probe gives up, and counts as having taken this long.
_GIVE_UP_S = 30.0
#: Pause between two probes of one port.
_PAUSE_S = 0.05


@dataclass
class Answers:
    """The time that each probe took, in seconds, of the two ports and of the bare server."""

    api: list[float] = field(default_factory=list)
    admin: list[float] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)

    @property
    def slow(self) -> list[str]:
        """The ports that once took more than `ANSWER_S` longer than the bare server."""
        slowest = {
            port: max(took) - max(self.bare)
            for port, took in (("api", self.api), ("admin", self.admin))
        }
        return [
            f"the {port} port took {took:.2f} s to answer"
            for port, took in slowest.items()
            if took > ANSWER_S
        ]

    def assert_fast(self) -> None:
        """Assert that both ports answered every time within `ANSWER_S` of the bare server."""
        assert not self.slow


@contextmanager
def answering(service: Served) -> Iterator[Answers]:
    """Probe both ports of *service* until left, each probe on a new connection.

    ``GET /openapi.json`` needs no key and no database, so that a slow answer means that
    the event loop was busy.
    """
    answers, done = Answers(), threading.Event()
    with _bare_server() as bare_url:
        probed = {
            f"{service.base_url}/openapi.json": answers.api,
            f"{service.admin_url}/healthz": answers.admin,
            bare_url: answers.bare,
        }
        threads = [
            threading.Thread(target=_probe, args=(url, took, done))
            for url, took in probed.items()
        ]
        for thread in threads:
            thread.start()
        try:
            yield answers
        finally:
            done.set()
            for thread in threads:
                thread.join()


@contextmanager
def _bare_server() -> Iterator[str]:
    program = (
        "import http.server as h\n"
        "class Bare(h.BaseHTTPRequestHandler):\n"
        "    do_GET = lambda self: self.send_error(200)\n"
        "    log_message = lambda *_: None\n"
        "server = h.ThreadingHTTPServer(('127.0.0.1', 0), Bare)\n"
        "print(server.server_port, flush=True)\n"
        "server.serve_forever()\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/"
        finally:
            process.kill()


def _probe(url: str, took: list[float], done: threading.Event) -> None:
    with httpx.Client(timeout=_GIVE_UP_S, trust_env=False) as client:
        while not (done.wait(_PAUSE_S) and took):
            begun = time.monotonic()
            try:
                status = client.get(url, headers={"Connection": "close"}).status_code
            except httpx.HTTPError:
                took.append(_GIVE_UP_S)
                continue
            took.append(time.monotonic() - begun if status == 200 else _GIVE_UP_S)
