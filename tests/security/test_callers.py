"""Attacks of callers on the plain port: the service answers within half a second."""

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from harness.served import Served
from security.responsiveness import answering

pytestmark = pytest.mark.slow

#: Of a service that has few connections to lose.
DESCRIPTORS = 256
ATTACK_S = 1.5
POST = b"POST /v1/contacts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
SMALL_CHUNKS = b"1\r\na\r\n" * 40_000
#: The start of a ClientHello as `ssl` sends it: a handshake record of 512 bytes.
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(1, 250)) * 2


@contextmanager
def small_service(folder: Path) -> Iterator[Served]:
    few = ("sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh")
    with Served(folder, launcher=few) as service:
        yield service


def send_for(service: Served, until: float, head: bytes, endless: bytes) -> None:
    """Send *head* and *endless* again and again on connections that the service closes."""
    while time.monotonic() < until:
        with suppress(OSError), socket.create_connection(service.address, timeout=1) as caller:
            caller.sendall(head)
            while time.monotonic() < until:
                caller.sendall(endless)


def attack(service: Served, head: bytes, endless: bytes, callers: int = 4) -> None:
    until = time.monotonic() + ATTACK_S
    with ThreadPoolExecutor(callers) as threads:
        for _ in range(callers):
            threads.submit(send_for, service, until, head, endless)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("callers")) as served:
        yield served


#: What is sent first on a connection, and then without end; KEY stands for a good one.
ATTACKS = {
    "chunks after a 401": (POST + CHUNKED, SMALL_CHUNKS),
    "chunks of a caller with a key": (POST + b"KEY" + CHUNKED, SMALL_CHUNKS),
    "heads of many lines": (b"", b"GET /v1/usage HTTP/1.1\r\nHost: x\r\n" + b"a:\r\n" * 15_000),
    "pipelined calls": (b"", b"GET /v1/usage HTTP/1.1\r\nHost: x\r\n\r\n" * 5_000),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_an_endless_call_delays_no_other(service: Served, name: str) -> None:
    head, endless = ATTACKS[name]
    key = f"Authorization: Bearer {service.new_key()['key']}\r\n".encode()
    with answering(service) as answers:
        attack(service, head.replace(b"KEY", key), endless)

    answers.assert_fast()


def test_a_tls_handshake_on_the_plain_port_is_answered_at_once(service: Served) -> None:
    for at in (service.address, _admin_address(service)):
        with socket.create_connection(at, timeout=1) as caller:
            caller.sendall(CLIENT_HELLO)
            received = b""
            while part := caller.recv(4096):  # to its end: it is closed
                received += part

        assert received.startswith(b"HTTP/1.1 400 ")
        assert b"without TLS" in received


def test_stalled_bodies_of_one_key_leave_connections_to_another(tmp_path: Path) -> None:
    with small_service(tmp_path) as service, ExitStack() as stack:
        one, other = service.new_key(), service.new_key(1_000)
        head = POST + f"Authorization: Bearer {one['key']}\r\n".encode()
        head += b"Content-Length: 50\r\n\r\n{"
        client = stack.enter_context(service.client(other))
        client.headers["Connection"] = "close"  # a kept one may be closed meanwhile
        client.post("/contacts", json={"brand": "Veltrana", "wait": True}).raise_for_status()
        sockets = [
            stack.enter_context(socket.create_connection(service.address, timeout=30))
            for _ in range(400)
        ]
        for stalled in sockets:
            stalled.sendall(head)
        assert b" 429 " in sockets[-1].recv(100), "there are too many of its key"
        posted = client.post("/contacts", json={"brand": "Veltrana"}).status_code
        with answering(service) as answers:
            statuses = {client.get("/usage").status_code for _ in range(50)}

    answers.assert_fast()
    assert statuses == {200}
    assert posted == 200


def test_silent_sockets_leave_connections_to_callers(tmp_path: Path) -> None:
    with small_service(tmp_path) as service, ExitStack() as stack:
        client = stack.enter_context(service.client(service.new_key()))
        client.headers["Connection"] = "close"
        with answering(service) as answers:
            for _ in range(400):
                stack.enter_context(socket.create_connection(service.address))
            statuses = {client.get("/usage").status_code for _ in range(50)}

    answers.assert_fast()
    assert statuses == {200}


def _admin_address(service: Served) -> tuple[str, int]:
    host, _, port = service.admin_url.removeprefix("http://").rpartition(":")
    return host, int(port)
