"""A proxy between client and service on which anything may go wrong, at a seeded rate."""

import http.client
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, Semaphore
from urllib.parse import urlsplit

from client.answering import Handling, http_thread

#: Before the service has heard of the call, and after it has done what it was asked.
BEFORE = ("drop", "500", "429", "503-page")
AFTER = ("lose", "500-after", "cut", "cut-unnoticed", "504-page")
_ERROR = b'{"error": {"code": "%s", "message": "injected"}}'
_PAGE = b"<html>proxy</html>"


@dataclass
class FaultyProxy:
    url: str = ""
    faults: Counter[str] = field(default_factory=Counter)
    #: Idempotency keys of the searches that were sent.
    sent: list[str] = field(default_factory=list)
    #: Released for each call that was passed on and answered by the service.
    passed: Semaphore = field(default_factory=lambda: Semaphore(0))


@dataclass
class _Said:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


@contextmanager
def faulty_proxy(  # noqa: C901 - its class has a match
    behind: str, *, seed: int, rate: float
) -> Iterator[FaultyProxy]:
    """Pass calls on to *behind*; of each, with the chance *rate*, something goes wrong."""
    parts = urlsplit(behind)
    proxy = FaultyProxy()
    chance = random.Random(seed)
    turn = Lock()

    class Handler(Handling):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with turn:
                fault = chance.choice(BEFORE + AFTER) if chance.random() < rate else "none"
                proxy.faults[fault] += 1
                if self.command == "POST":
                    proxy.sent.append(self.headers["Idempotency-Key"])
            self.close_connection = True
            said = None if fault in BEFORE else self.passed_on(body)
            if said is not None:
                proxy.passed.release()
            self.say(fault, said)

        def passed_on(self, body: bytes) -> _Said:
            there = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=100)
            try:
                there.request(self.command, self.path, body, dict(self.headers.items()))
                answer = there.getresponse()
                return _Said(answer.status, answer.getheaders(), answer.read())
            finally:
                there.close()

        def say(self, fault: str, said: _Said | None) -> None:
            match fault:
                case "drop" | "lose":
                    pass
                case "500" | "500-after":
                    self.write(_Said(500, [], _ERROR % b"server_error"))
                case "429":
                    self.write(_Said(429, [("Retry-After", "3")], _ERROR % b"rate_limited"))
                case "503-page" | "504-page":
                    self.write(_Said(int(fault[:3]), [("Content-Type", "text/html")], _PAGE))
                case "cut" | "cut-unnoticed":
                    assert said is not None, "it was passed on"
                    self.write(said, part=len(said.body) // 2, whole=fault == "cut")
                case _:
                    assert said is not None, "it was passed on"
                    self.write(said)

        def write(self, said: _Said, part: int | None = None, *, whole: bool = True) -> None:
            """Send *said*, or a *part* of its body, announced as *whole* or not at all."""
            self.send_response(said.status)
            for name, value in said.headers:
                if name.lower() not in {"content-length", "connection", "transfer-encoding"}:
                    self.send_header(name, value)
            if whole:
                self.send_header("Content-Length", str(len(said.body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(said.body[:part])

    with http_thread(Handler) as root:
        proxy.url = f"{root}{parts.path}"
        yield proxy
