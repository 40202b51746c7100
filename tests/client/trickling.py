"""A server whose answers come drop by drop, never silent for long."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from client.answering import Answering, Got

#: Between two drops, in seconds.
SILENCE_S = 0.02
#: After so many it ends: a client that waits for all of them has not given up.
DROPS = 150


@contextmanager
def trickling(begin: bytes, drop: bytes, *, after: bytes = b"") -> Iterator[Answering]:
    """Answer with *begin* and then with *drop* again and again; the first call with *after*."""
    told = Answering("")
    over = Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            told.got.append(Got(self.command, self.path, {}, b""))
            if after and len(told.got) == 1:
                self.wfile.write(after)
                return
            self.close_connection = True
            with suppress(OSError):  # the client has hung up
                self.wfile.write(begin)
                for _ in range(DROPS):
                    if over.wait(SILENCE_S):
                        break
                    self.wfile.write(drop)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        told.url = f"http://127.0.0.1:{server.server_port}/v1"
        yield told
    finally:
        over.set()
        server.shutdown()
        server.server_close()
        thread.join()
