"""A server that has no TLS and asks everybody for the password in clear."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Literal

SSL_REQUEST = 80877103
ASK = {
    "cleartext": b"R" + struct.pack("!II", 8, 3),
    "md5": b"R" + struct.pack("!II", 12, 5) + b"salt",
}


@dataclass
class PasswordAsker:
    """What it was asked, and which clients came."""

    port: int
    visitors: int = 0
    passwords: list[bytes] = field(default_factory=list)


@contextmanager
def asking_for_passwords(
    how: Literal["cleartext", "md5"] = "cleartext",
) -> Iterator[PasswordAsker]:
    """Run it on every address of this machine until left."""
    with socket.create_server(("0.0.0.0", 0)) as listening:
        asker = PasswordAsker(listening.getsockname()[1])
        Thread(target=_serve, args=(listening, asker, ASK[how]), daemon=True).start()
        try:
            yield asker
        finally:
            listening.shutdown(socket.SHUT_RDWR)


def _serve(listening: socket.socket, asker: PasswordAsker, ask: bytes) -> None:
    while True:
        try:
            visitor, _ = listening.accept()
        except OSError:
            return
        asker.visitors += 1
        with visitor:
            visitor.settimeout(5)
            try:
                _ask(visitor, asker, ask)
            except (OSError, EOFError):
                continue


def _ask(visitor: socket.socket, asker: PasswordAsker, ask: bytes) -> None:
    # PostgreSQL's manual, section "Message Formats": SSLRequest, StartupMessage.
    if struct.unpack("!I", _message(visitor)[:4]) == (SSL_REQUEST,):
        visitor.sendall(b"N")
        _message(visitor)
    visitor.sendall(ask)
    assert _exactly(visitor, 1) == b"p"
    asker.passwords.append(_message(visitor).rstrip(b"\0"))


def _message(visitor: socket.socket) -> bytes:
    (length,) = struct.unpack("!I", _exactly(visitor, 4))
    return _exactly(visitor, length - 4)


def _exactly(visitor: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        if not (part := visitor.recv(size - len(found))):
            raise EOFError
        found += part
    return found
