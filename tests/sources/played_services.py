"""The services of `people_services` on a port, for commands and whole services."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, urlsplit

from sources.people_services import Asked, Respond


class ServiceOnPort:
    """One service; *respond* may be changed while it runs."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[Asked] = []
        self.url = ""


@contextmanager
def on_port(respond: Respond) -> Iterator[ServiceOnPort]:
    """Serve *respond* on a port of its own, from a thread."""
    service = ServiceOnPort(respond)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length", "0"))
            self._answer(self.rfile.read(size))

        def _answer(self, sent: bytes | None) -> None:
            split = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = json.loads(sent) if sent else None
            params = dict(parse_qsl(split.query))
            asked = Asked(self.command, split.path, params, headers, body)
            service.asked.append(asked)
            status, more, said = service.respond(asked)
            self.send_response(status)
            for name, value in more.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
