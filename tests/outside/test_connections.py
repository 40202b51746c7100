"""Connections of the clients: none is used twice; limits of an answer on the wire."""

import asyncio
import os
from pathlib import Path

import pytest

from cs.outside.port import Unreachable
from harness.clients import certificates, trusted_client
from harness.loopback_server import loopback_server

OPEN = "127.81.0.1"
#: Bytes of a body at most, those around it, and parts of a body.
MAX_BYTES, FRAMING_BYTES, PARTS = 2 * 1024 * 1024, 128 * 1024, 16_384
#: More than the connections that a client has at once.
MANY = 120


async def test_what_comes_behind_an_answer_is_never_taken_for_the_next_one() -> None:
    """Also where it came in one piece with the answer, and is well-formed."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
        writer.write(answer % (len(path), path) + answer % (6, b"POISON"))
        await reader.read()

    async with loopback_server(serve, OPEN) as port, trusted_client() as client:
        bodies = [
            (await client.get(f"http://{OPEN}:{port}{path}")).body
            for path in ("/a", "/b", "/c")
        ]

    assert bodies == [b"/a", b"/b", b"/c"]


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
#: Answers whose body is short, or has not begun when the limit is reached.
TOO_LARGE = {
    "hints": b"HTTP/1.1 103 Early Hints\r\n\r\n" * (FRAMING_BYTES // 28 + 1),
    "extensions of chunks": CHUNKED
    + (b"100;" + b"e" * 65_000 + b"\r\n" + b"a" * 256 + b"\r\n")
    * ((MAX_BYTES + FRAMING_BYTES) // 65_000 + 1),
    "chunks": CHUNKED + b"1\r\na\r\n" * (PARTS + 1) + b"0\r\n\r\n",
}


@pytest.mark.parametrize("name", TOO_LARGE)
async def test_an_answer_is_limited_by_all_that_comes(name: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(TOO_LARGE[name])
        await reader.read()

    async with loopback_server(serve, OPEN) as port, trusted_client() as client:
        with pytest.raises(Unreachable) as caught:
            await client.get(f"http://{OPEN}:{port}/")

    assert caught.value.why == "too-large"


async def test_calls_that_run_out_of_time_leave_no_connection_in_use() -> None:
    silent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if not silent.is_set():
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.read()

    async with (
        loopback_server(serve, OPEN) as port,
        trusted_client(total_s=0.5) as client,
    ):
        silent.set()
        url = f"http://{OPEN}:{port}/"
        failed = await asyncio.gather(
            *(client.get(url) for _ in range(MANY)), return_exceptions=True
        )
        silent.clear()
        answer = await client.get(f"http://{OPEN}:{port}/")

    assert [getattr(error, "why", error) for error in failed] == ["timeout"] * MANY
    assert answer.body == b"ok"


async def test_a_damaged_tls_record_is_a_failure_of_tls(tmp_path: Path) -> None:
    authority = certificates(tmp_path)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        beneath = writer.get_extra_info("socket")
        os.write(beneath.fileno(), b"\x17\x03\x03\x00\x20" + bytes(32))
        await reader.read()

    tls = authority.context(["localhost"])
    async with (
        loopback_server(serve, tls=tls) as port,
        trusted_client(ca_file=authority.ca_file) as client,
    ):
        with pytest.raises(Unreachable, match=r"localhost: .") as caught:
            await client.get(f"https://localhost:{port}/")

    assert caught.value.why == "tls"


async def test_a_handshake_that_hangs_is_closed_at_the_time_limit() -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        del writer
        while await reader.read(1 << 16):
            pass
        closed.set()

    async with (
        loopback_server(serve, OPEN) as port,
        trusted_client(total_s=0.2) as client,
    ):
        with pytest.raises(Unreachable, match=r"0\.2 s"):
            await client.get(f"https://{OPEN}:{port}/")
        async with asyncio.timeout(5):
            await closed.wait()
