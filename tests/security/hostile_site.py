"""Web sites that answer every request with bytes prepared before, sent as a test wants."""

import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

#: Sends the whole answer over a connection.
Send = Callable[[socket.socket, bytes], None]

SINGLE = 2_000


def at_once(connection: socket.socket, answer: bytes) -> None:
    connection.sendall(answer)


def in_single_bytes(connection: socket.socket, answer: bytes) -> None:
    """Send the first `SINGLE` bytes in a segment each, and wait for the client to give up."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for at in range(SINGLE):
        connection.send(answer[at : at + 1])
    connection.recv(1)


class HostileSite:
    """A site of any name, which knows no robots.txt.

    Attributes:
        port: Of http.
        refusing: Port of https, where it refuses connections.
        answer: To every other request.
        send: How it is sent.
        asked: Requests by path.
    """

    def __init__(self, port: int, refusing: int) -> None:
        self.port, self.refusing = port, refusing
        self.answer = b""
        self.send: Send = at_once
        self.asked = Counter[str]()

    def talk(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                if not (part := connection.recv(65_536)):
                    return
                head += part
            path = head.split()[1].decode("latin-1")
            self.asked[path] += 1
            if path == "/robots.txt":
                connection.sendall(
                    b"HTTP/1.1 404 None\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                )
            else:
                self.send(connection, self.answer)


@contextmanager
def hostile_site(address: str = "") -> Iterator[HostileSite]:
    """Serve on *address*, or on all, until left; each connection in a thread of its own."""
    with socket.create_server((address, 0), backlog=128) as listening, socket.socket() as bound:
        bound.bind((address, 0))
        site = HostileSite(listening.getsockname()[1], bound.getsockname()[1])

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    threading.Thread(target=site.talk, args=(connection,), daemon=True).start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield site
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
