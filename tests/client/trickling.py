"""A server whose answers come drop by drop, never silent for long."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event

from client.answering import Answering, Got
from client.http_thread import Handling, http_thread

#: Between two drops, in seconds.
SILENCE_S = 0.02
#: After so many it ends: a client that waits for all of them has not given up.
DROPS = 150


@contextmanager
def trickling(begin: bytes, drop: bytes, *, after: bytes = b"") -> Iterator[Answering]:
    """Answer with *begin* and then with *drop* again and again; the first call with *after*."""
    told = Answering("")
    over = Event()

    class Handler(Handling):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
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

    with http_thread(Handler) as root:
        told.url = f"{root}/v1"
        try:
            yield told
        finally:
            over.set()
