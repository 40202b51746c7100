"""The deployment under test, as its callers and its operator see it: over HTTP, by commands.

Nothing here imports the service.
"""

import itertools
import json
import secrets
import shlex
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx

#: Where the nodes are (with /v1, separated by spaces), the admin port of one of them, what
#: stands before `keys create` on a command line, and a file of keys to use (JSON lines with
#: `id`, `key` and `quota`), for those whose command is slow.
URLS = "CS_CONFORMANCE_URLS"
ADMIN = "CS_CONFORMANCE_ADMIN"
COMMAND = "CS_CONFORMANCE_COMMAND"
KEYS = "CS_CONFORMANCE_KEYS"
#: How many seconds late what is due by the clock may happen (1; over several processes 20).
MARGIN = "CS_CONFORMANCE_MARGIN"
#: Where a node is (with /v1) that starts four lookups a day and no more; its admin port and
#: command if it is a deployment of its own, with keys of its own.
CEILING = "CS_CONFORMANCE_CEILING"
CEILING_ADMIN = "CS_CONFORMANCE_CEILING_ADMIN"
CEILING_COMMAND = "CS_CONFORMANCE_CEILING_COMMAND"
#: Longer than an answer is reused, and than a mail server remembers who came.
MONTH = timedelta(days=31)
#: What something may take that happens at once.
AT_ONCE_S = 30.0
#: Longer than a held call.
CALL_S = 130.0

#: Runs `cs` with words and returns what it prints.
Command = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class Key:
    id: str
    key: str
    quota: int

    @property
    def authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}"}


class Spreading(httpx.BaseTransport):
    """Sends each call to the next of *urls*, as a proxy before the nodes would."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._turn = itertools.cycle([httpx.URL(url) for url in urls])
        self._http = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        node = next(self._turn)
        request.url = request.url.copy_with(scheme=node.scheme, host=node.host, port=node.port)
        request.headers["Host"] = node.netloc.decode()
        return self._http.handle_request(request)

    def close(self) -> None:
        """Stay open: all callers share it."""

    def end(self) -> None:
        self._http.close()


class Clock:
    """The sandbox's clock, on the admin port."""

    def __init__(self, admin_url: str) -> None:
        self._admin = httpx.Client(base_url=admin_url.rstrip("/"), timeout=100)

    def now(self) -> datetime:
        return _time_in(self._admin.get("/sandbox/clock"))

    def advance(self, by: timedelta) -> datetime:
        body = {"advance": by.total_seconds()}
        return _time_in(self._admin.post("/sandbox/clock", json=body))

    def close(self) -> None:
        self._admin.close()

    def advance_to(self, when: datetime) -> None:
        self.advance(max(when - self.now(), timedelta()))


def _time_in(answer: httpx.Response) -> datetime:
    assert answer.status_code != httpx.codes.BAD_REQUEST, (
        f"{answer.text}; a run moves the clock by some six years: start a fresh sandbox"
    )
    return datetime.fromisoformat(answer.raise_for_status().json()["now"])


class Caller:
    """Calls with one key."""

    def __init__(self, key: Key, base_url: str, transport: httpx.BaseTransport) -> None:
        self.key = key
        self.http = httpx.Client(
            base_url=base_url, headers=key.authorization, transport=transport, timeout=CALL_S
        )

    def ask(self, headers: Mapping[str, str] | None = None, **body: Any) -> httpx.Response:
        """``POST /contacts`` with *body*."""
        return self.http.post("/contacts", json=body, headers=headers)

    def send(
        self, body: bytes, content_type: str | None = "application/json"
    ) -> httpx.Response:
        """``POST /contacts`` with these bytes."""
        headers = {} if content_type is None else {"Content-Type": content_type}
        return self.http.post("/contacts", content=body, headers=headers)

    def found(self, **body: Any) -> dict[str, Any]:
        """Return the record of a search that has ended."""
        return _record(self.ask(wait=True, **body))

    def read(self, search: str) -> dict[str, Any]:
        return _record(self.http.get(f"/searches/{search}"))

    def ended(self, search: str) -> dict[str, Any]:
        """Return the record once it has ended; it is about to."""
        until(lambda: self.read(search)["status"] != "running")
        return self.read(search)

    def usage(self) -> dict[str, int]:
        body: dict[str, int] = self.http.get("/usage").raise_for_status().json()
        return body

    def counted(self) -> int:
        """Return how many searches count towards the day."""
        answer = self.http.get("/usage").raise_for_status()
        return 60 - int(answer.headers["RateLimit-Remaining"])


def _record(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == httpx.codes.OK, answer.text
    record: dict[str, Any] = answer.json()
    return record


@dataclass
class Target:
    """One deployment.

    Attributes:
        margin: How late what is due by the clock may happen.
        pool: Keys made beforehand, by quota; when none is left the command makes one.
        ceiling: A node that starts four lookups a day and no more, if there is one.
    """

    urls: Sequence[str]
    clock: Clock
    command: Command
    margin: timedelta = timedelta(seconds=1)
    pool: dict[int, list[Key]] = field(default_factory=dict)
    ceiling: "Target | None" = None

    def __post_init__(self) -> None:
        self.transport = Spreading(self.urls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.transport.end()
        self.clock.close()

    @property
    def limited(self) -> "Target":
        """The node with a ceiling."""
        assert self.ceiling is not None, f"no node with a ceiling: name one in {CEILING}"
        return self.ceiling

    @property
    def root(self) -> str:
        """Where a node is, without /v1."""
        return self.urls[0].removesuffix("/v1")

    def socket(self) -> socket.socket:
        """Open a connection to a node, to send what no client would."""
        where = urlsplit(self.root)
        assert where.hostname is not None, self.root
        port = where.port or (443 if where.scheme == "https" else 80)
        raw = socket.create_connection((where.hostname, port), timeout=10)
        if where.scheme == "http":
            return raw
        return ssl.create_default_context().wrap_socket(raw, server_hostname=where.hostname)

    def key(self, quota: int = 100) -> Key:
        if self.pool.get(quota):
            return self.pool[quota].pop()
        body = json.loads(self.command(["keys", "create", "--json", f"--quota={quota}"]))
        return Key(body["id"], body["key"], quota)

    def caller(self, quota: int = 100) -> Caller:
        return self.with_key(self.key(quota))

    def with_key(self, key: Key) -> Caller:
        return Caller(key, self.urls[0], self.transport)

    def bare(self) -> httpx.Client:
        """Return a client without a key."""
        return httpx.Client(base_url=self.urls[0], transport=self.transport, timeout=CALL_S)

    def a_month_later(self) -> None:
        """Let everything end, every window empty itself, and nothing be left to reuse."""
        self.clock.advance(MONTH)


@contextmanager
def from_environment(environment: Mapping[str, str]) -> Iterator[Target]:
    """Yield the deployment that *environment* names."""
    admin, command = environment[ADMIN], environment[COMMAND]
    margin = timedelta(seconds=float(environment.get(MARGIN, "1")))
    pool: dict[int, list[Key]] = {}
    if KEYS in environment:
        for line in Path(environment[KEYS]).read_text().splitlines():
            key = Key(**json.loads(line))
            pool.setdefault(key.quota, []).append(key)
    target = Target(environment[URLS].split(), Clock(admin), _command(command), margin, pool)
    with ExitStack() as stack:
        if CEILING in environment:
            apart = CEILING_COMMAND in environment
            target.ceiling = stack.enter_context(
                Target(
                    [environment[CEILING]],
                    Clock(environment.get(CEILING_ADMIN, admin)),
                    _command(environment.get(CEILING_COMMAND, command)),
                    margin,
                    {} if apart else pool,
                )
            )
        yield stack.enter_context(target)


def _command(prefix: str) -> Command:
    words = shlex.split(prefix)
    return lambda more: run([*words, *more])


def run(words: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    """Run a command and return what it prints.

    Raises:
        subprocess.CalledProcessError: It failed; its words are in `stderr`.
    """
    return subprocess.run(
        words, env=environment, check=True, capture_output=True, text=True, timeout=120
    ).stdout


def until(condition: Callable[[], bool]) -> None:
    """Return once *condition* holds, which it will in a moment."""
    give_up = time.monotonic() + AT_ONCE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < give_up, "it did not come about in time"
        pause.wait(0.02)


def new_brand() -> str:
    """Return a brand that no source knows and no key has searched for: it fails, for free."""
    return f"Unheard {secrets.token_hex(6)}"
