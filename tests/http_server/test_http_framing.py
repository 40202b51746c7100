"""Calls whose end two readers may see in different places (RFC 9112), over raw sockets.

Through a proxy the rest of such a call could be read as a call of another caller.
"""

import asyncio
from contextlib import suppress

from starlette.types import Receive, Scope, Send

from harness.on_port import Port, port_of

FIRST = b"POST /a HTTP/1.1\r\nHost: x\r\n"
BODY = b"5\r\nhello\r\n0\r\n\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"

#: What is sent, and whether it is refused with 400 and closed (otherwise: one call, /a).
REFUSED = {
    "both, RFC 9112 section 6.1": FIRST + CHUNKED + b"Content-Length: 15\r\n\r\n" + BODY,
    "both, the other way round": FIRST + b"Content-Length: 15\r\n" + CHUNKED + b"\r\n" + BODY,
    "both, a length of nothing": FIRST + b"Content-Length: 0\r\n" + CHUNKED + b"\r\n" + BODY,
    "both, in other letters": FIRST
    + b"content-LENGTH: 3\r\ntransfer-ENCODING: CHUNKED\r\n\r\n",
    "chunked in HTTP/1.0, section 6.1": b"POST /a HTTP/1.0\r\n" + CHUNKED + b"\r\n" + BODY,
    "two lengths": FIRST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "two lengths in one": FIRST + b"Content-Length: 5, 6\r\n\r\nhello!",
    "a length with a sign": FIRST + b"Content-Length: +5\r\n\r\nhello",
    "a negative length": FIRST + b"Content-Length: -5\r\n\r\nhello",
    "a length in hexadecimal": FIRST + b"Content-Length: 0x5\r\n\r\nhello",
    "a length with a line": FIRST + b"Content-Length: 5\n0\r\n\r\nhello",
    "a length that is empty": FIRST + b"Content-Length:\r\n\r\nhello",
    "a length of letters": FIRST + "Content-Length: \u0665\r\n\r\nhello".encode(),
    "a length too long": FIRST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    "an empty line first": b"\r\n" + FIRST + b"\r\n",
    "another protocol's line": b"POST /a RTSP/1.0\r\nHost: x\r\n\r\n",
    "a tunnel": b"CONNECT x:443 HTTP/2.0\r\nHost: x\r\n\r\n",
    "coding identity": FIRST + b"Transfer-Encoding: identity\r\n\r\n" + BODY,
    "coding xchunked": FIRST + b"Transfer-Encoding: xchunked\r\n\r\n" + BODY,
    "coding chunked twice": FIRST + b"Transfer-Encoding: chunked, chunked\r\n\r\n" + BODY,
    "coding gzip, chunked": FIRST + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + BODY,
    "coding chunked, identity": FIRST + CHUNKED + b"Transfer-Encoding: identity\r\n\r\n" + BODY,
    "coding with a vertical tab": FIRST + b"Transfer-Encoding: \x0bchunked\r\n\r\n" + BODY,
    "white space before the colon": FIRST + b"Transfer-Encoding : chunked\r\n\r\n" + BODY,
    "white space before a length's": FIRST + b"Content-Length : 5\r\n\r\nhello",
    "white space before a name": b"POST /a HTTP/1.1\r\n Host: x\r\n\r\n",
    "a folded coding, section 5.2": FIRST + b"Transfer-Encoding:\r\n\tidentity\r\n\r\n" + BODY,
    "a carriage return alone": FIRST + b"X: a\rContent-Length: 5\r\n\r\nhello",
    "a carriage return for a line": b"POST /a HTTP/1.1\rHost: x\r\r\n\r\n",
    "nothing in a value": FIRST + b"X: a\x00b\r\n\r\n",
    "no host": b"POST /a HTTP/1.1\r\n\r\n",
    "two hosts": FIRST + b"Host: y\r\n\r\n",
    "a chunk's size with a sign": FIRST + CHUNKED + b"\r\n+5\r\nhello\r\n0\r\n\r\n",
    "a chunk's size in Python": FIRST + CHUNKED + b"\r\n0x5\r\nhello\r\n0\r\n\r\n",
    "a chunk's size too long": FIRST
    + CHUNKED
    + b"\r\n"
    + b"0" * 30
    + b"5\r\nhello\r\n0\r\n\r\n",
    "a chunk's size that is none": FIRST + CHUNKED + b"\r\n\r\nhello\r\n0\r\n\r\n",
    "a chunk longer than it says": FIRST + CHUNKED + b"\r\n3\r\nhello\r\n0\r\n\r\n",
    "a chunk's extension without end": FIRST + CHUNKED + b"\r\n5;" + b"a" * 70_000,
    "a chunk's extension with a line": FIRST + CHUNKED + b"\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
    "a head without end": FIRST + b"X: " + b"a" * 70_000,
    "lines of a head": FIRST + b"X:\r\n" * 20_000 + b"\r\n",
    "a request line without end": b"G" * 70_000,
    "trailers": FIRST + CHUNKED + b"\r\n0\r\n" + b"X: a\r\n" * 20_000 + b"\r\n",
    "small chunks": FIRST + CHUNKED + b"\r\n" + b"1\r\na\r\n" * 200 + b"0\r\n\r\n",
}
TAKEN = {
    "chunked": FIRST + CHUNKED + b"\r\n" + BODY,
    "a length": FIRST + b"Content-Length: 5\r\n\r\nhello",
    "a chunk's extension": FIRST + CHUNKED + b'\r\n5;a="b"\r\nhello\r\n0\r\n\r\n',
    "another protocol offered": FIRST
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nhello",
    "another protocol offered, chunked": FIRST
    + CHUNKED
    + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    + BODY,
    "trailers that look like headers": FIRST
    + CHUNKED
    + b"\r\n5\r\nhello\r\n0\r\nConnection: close, upgrade\r\nUpgrade: x\r\n\r\n",
    "the same length twice": FIRST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a folded value, section 5.2": FIRST + b"X: a\r\n b\r\n\r\n",
    # RFC 9112 section 2.2 and RFC 9110 section 8.6 leave these two to the recipient.
    "lines that end in a line feed": b"POST /a HTTP/1.1\nHost: x\n\n",
    "a length among the trailers": FIRST
    + CHUNKED
    + b"\r\n5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n",
    "a method that is not known": b"BREW /a HTTP/1.1\r\nHost: x\r\n\r\n",
}


class Asked:
    """Answers 200 when the body is there, and keeps the paths that were asked for."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"])
        while (await receive()).get("more_body"):
            pass
        headers = [(b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def answers_to(port: Port, sent: bytes) -> bytes:
    """Return all that comes back until the other side closes, or resets the connection.

    It resets if there is more than it has read, as TCP does; what it wrote arrives before.
    """
    answers = b""
    async with asyncio.timeout(10):
        reader, writer = await asyncio.open_connection(*port.address)
        try:
            writer.write(sent)
            with suppress(ConnectionResetError):
                while part := await reader.read(65_536):
                    answers += part
        finally:
            writer.close()
    return answers


def is_refused(how: str, said: bytes, paths: list[str]) -> bool:
    """Say whether a call is refused, or cut off if it was good as far as it had come."""
    if b"HTTP/1.1 200" in said or "/hidden" in paths:
        return False
    if paths:
        return "chunk" in how or "trailers" in how
    closes = b"connection: close" in said.lower() and said.count(b"HTTP/1.1") == 1
    return said.startswith(b"HTTP/1.1 400 ") and closes


async def test_a_call_whose_end_is_in_doubt_is_refused_and_the_connection_closed() -> None:
    app, wrong = Asked(), []
    async with port_of(app) as port:
        for how, sent in REFUSED.items():
            app.paths.clear()
            said = await answers_to(port, sent + HIDDEN)
            if not is_refused(how, said, app.paths):
                wrong.append((how, said, [*app.paths]))

    assert wrong == []


async def test_a_call_whose_end_is_plain_is_accepted_and_so_is_the_next() -> None:
    app, wrong = Asked(), []
    last = HIDDEN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    async with port_of(app) as port:
        for how, sent in TAKEN.items():
            app.paths.clear()
            said = await answers_to(port, sent + last)
            if said.count(b"HTTP/1.1 200") != 2 or app.paths != ["/a", "/hidden"]:
                wrong.append((how, said, [*app.paths]))

    assert wrong == []
