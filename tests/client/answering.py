"""Servers of the standard library that say what a test wants, and time that goes by at once."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

#: status, body, headers
Answer = tuple[int, bytes, dict[str, str]]

USAGE = b'"usage": {"quota": 9, "used": 1, "remaining": 8}'
RUNNING = (
    b'{"id": "srch_1", "status": "running", "brand": "Acme", "retry_after": 5, %s}' % USAGE
)
DONE = b'{"id": "srch_1", "status": "done", "brand": "Acme", %s}' % USAGE
FAILED = (
    b'{"id": "srch_1", "status": "failed", "reason": "no_emails", "brand": "Acme", '
    b'"cached": false, "charged": false, %s}' % USAGE
)


def refusal(status: int, code: str, **headers: str) -> Answer:
    """Return the service's "no"; *headers* with _ for -."""
    body = b'{"error": {"code": "%s", "message": "not so"}}' % code.encode()
    return status, body, {name.replace("_", "-"): value for name, value in headers.items()}


class Handling(BaseHTTPRequestHandler):
    """A call, whatever its method; it is not written about."""

    def answer(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.answer()

    do_POST = do_HEAD = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def http_thread(handler: type[Handling], *, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve with *handler* until left; yield the address, without a path."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    if tls is not None:
        server.socket = tls.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass(frozen=True)
class Got:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Answering:
    url: str
    got: list[Got] = field(default_factory=list)


@contextmanager
def answering(*answers: Answer) -> Iterator[Answering]:
    """Give each call the next of *answers*, the last one for ever."""
    left = list(answers)
    with answered(lambda _: left.pop(0) if len(left) > 1 else left[0]) as server:
        yield server


@contextmanager
def answered(answer: Callable[[Got], Answer]) -> Iterator[Answering]:
    """Answer each call with what *answer* says, one call at a time."""
    told = Answering("")
    turn = Lock()

    class Handler(Handling):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with turn:
                got = Got(self.command, self.path, headers, self.rfile.read(length))
                told.got.append(got)
                status, body, more = answer(got)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

    with http_thread(Handler) as root:
        told.url = f"{root}/v1"
        yield told


@dataclass
class Time:
    """A clock that only sleeping moves."""

    at: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.at += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)
