"""A server of the standard library's in a thread of its own."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


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
