"""Hostile bytes, as the service reads them, as plain h11 does, and as llhttp does.

llhttp is the parser of Node.js, of another author than h11; a proxy before the service may read
as either does.  So they may refuse different streams, but may see no different calls.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import h11
import httptools
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cs.http_server.connections import MAX_HEAD, MAX_SMALL_CHUNKS, READ_BYTES, Parser


class Call(NamedTuple):
    method: bytes
    target: bytes
    body: bytes


@dataclass
class Calls:
    """The calls that came whole, and whether the rest was refused."""

    whole: list[Call] = field(default_factory=list)
    refused: bool = False
    _newest: Call = field(default=Call(b"", b"", b""), compare=False)

    def read(self, parser: h11.Connection) -> bool:
        """Answer every call that has come whole; return whether more may come."""
        while True:
            event = parser.next_event()
            match event:
                case h11.Request():
                    self._newest = Call(event.method, event.target, b"")
                case h11.Data():
                    body = self._newest.body + bytes(event.data)
                    self._newest = self._newest._replace(body=body)
                case h11.EndOfMessage():
                    self.whole.append(self._newest)
                    parser.send(h11.Response(status_code=404, headers=[]))
                    parser.send(h11.EndOfMessage())
                    if parser.our_state is not h11.DONE:
                        return False
                    parser.start_next_cycle()
                case _:
                    return True


def read(sent: list[bytes]) -> Calls:
    """Return what the service sees in *sent*, which comes piece by piece."""
    parser, calls = Parser(), Calls()
    for piece in sent:
        for start in range(0, len(piece), READ_BYTES):
            parser.receive_data(piece[start : start + READ_BYTES])
            try:
                if not calls.read(parser):
                    return calls
            except h11.RemoteProtocolError:
                calls.refused = True
                return calls
    return calls


def read_by_h11(sent: bytes) -> Calls:
    """Return what h11 by itself sees in *sent*."""
    parser, calls = h11.Connection(h11.SERVER, MAX_HEAD), Calls()
    parser.receive_data(sent)
    try:
        calls.read(parser)
    except h11.RemoteProtocolError:
        calls.refused = True
    return calls


class _Heard:
    """Called by llhttp while it reads."""

    def __init__(self) -> None:
        self.calls = Calls()
        self._target = self._body = b""
        self.parser = httptools.HttpRequestParser(self)

    def on_message_begin(self) -> None:
        self._target = self._body = b""

    def on_url(self, target: bytes) -> None:
        self._target += target

    def on_body(self, part: bytes) -> None:
        self._body += part

    def on_message_complete(self) -> None:
        self.calls.whole.append(Call(self.parser.get_method(), self._target, self._body))


def read_by_llhttp(sent: bytes) -> Calls:
    """Return what llhttp sees in *sent*, up to a call that offers another protocol."""
    heard = _Heard()
    try:
        heard.parser.feed_data(sent)
    except httptools.HttpParserUpgrade:
        del heard.calls.whole[-1:]  # it takes the body for bytes of that protocol
        heard.calls.refused = True
    except httptools.HttpParserError:
        heard.calls.refused = True
    return heard.calls


END = b"\r\n"
lines = st.sampled_from([END] * 30 + [b"\n", b"\r", b"\r\r\n", b"\n\r", b"", b"\r\n "])
request_lines = st.builds(
    b" ".join,
    st.tuples(
        st.sampled_from([b"GET", b"POST", b"POST", b"HEAD", b"BREW", b"CONNECT", b"G@", b""]),
        st.sampled_from([b"/a", b"/a?b=%2f", b"*", b"http://x/y", b"x:1", b"/\x80", b"/a b"]),
        st.sampled_from([b"HTTP/1.1"] * 6 + [b"HTTP/1.0", b"HTTP/2.0", b"RTSP/1.0", b"HTTP/1"]),
    ),
)
names = st.sampled_from(
    [
        b"Content-Length",
        b"Transfer-Encoding",
        b"Connection",
        b"Upgrade",
        b"Expect",
        b"X",
        b"Host",
    ]
)
LENGTHS = [b"5", b"0", b"5, 5", b"+5", b"0x5", b"05"]
CODINGS = [b"chunked", b"Chunked", b"gzip, chunked"]
OPTIONS = [b"close", b"keep-alive", b"upgrade", b"h2c", b"100-continue", b"", b"a\tb", b"\xff"]
values = st.one_of(
    st.sampled_from([*LENGTHS, *CODINGS, *OPTIONS]),
    st.binary(max_size=4),
)
colons = st.sampled_from([b": "] * 10 + [b":", b" :", b":\t", b"", b": \x0b"])
fields = st.builds(bytes.__add__, st.builds(bytes.__add__, names, colons), values)
sizes = st.sampled_from(
    [b"5"] * 8 + [b"05", b"5;a=b", b"5;a", b"+5", b"5 ", b"4", b"", b"F" * 17]
)
bodies = st.one_of(
    st.just(b""),
    st.just(b"hello"),
    st.builds(
        lambda size, end, last: size + end + b"hello" + end + last,
        sizes,
        lines,
        st.sampled_from(
            [b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"0\n\n", b"00\r\n\r\n", b"0\r\nbad\r\n"]
        ),
    ),
    st.binary(max_size=6),
)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    head = [draw(request_lines), b"Host: x", *draw(st.lists(fields, max_size=3))]
    return b"".join(line + draw(lines) for line in head) + draw(lines) + draw(bodies)


@st.composite
def conversations(draw: st.DrawFn) -> list[bytes]:
    """Some calls one behind the other, cut anywhere, and a good one in the end."""
    sent = b"".join(draw(st.lists(requests(), min_size=1, max_size=3)))
    sent += b"GET /last HTTP/1.1\r\nHost: x\r\n\r\n"
    cuts = sorted(draw(st.lists(st.integers(0, len(sent)), max_size=4)))
    return [sent[a:b] for a, b in zip([0, *cuts], [*cuts, len(sent)], strict=True)]


OFFERING = (
    b"POST / HTTP/1.1\r\nHost: x\r\nUpgrade: a\r\nConnection: upgrade\r\n"
    b"Content-Length: 5\r\n\r\n"
)


def same_as_far_as_both_read(one: Calls, other: Calls) -> bool:
    both = min(len(one.whole), len(other.whole))
    return one.whole[:both] == other.whole[:both]


@settings(max_examples=2 * settings().max_examples)
@given(conversations())
@example([OFFERING, b"GET /"])
def test_no_call_is_seen_that_another_parser_sees_differently(sent: list[bytes]) -> None:
    ours, whole = read(sent), b"".join(sent)
    plain, llhttp = read_by_h11(whole), read_by_llhttp(whole)

    assert ours.whole == plain.whole[: len(ours.whole)]
    assert ours.refused or ours == plain, "stricter than h11, if at all"
    assert same_as_far_as_both_read(ours, llhttp)


@settings(max_examples=settings().max_examples * 3 // 5)
@given(conversations())
def test_what_is_read_does_not_depend_on_how_it_comes(sent: list[bytes]) -> None:
    assert read(sent) == read([b"".join(sent)])


HEAD = b"POST /a?b HTTP/1.1\r\nHost: x\r\nX-A:  b \r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def test_a_good_call_is_seen_by_all() -> None:
    """So that the properties are not those of a reader that refuses everything."""
    sent = HEAD + b"Content-Length: 5\r\n\r\nhello" + CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"

    ours = read([bytes([one]) for one in sent])

    assert ours == read_by_h11(sent) == read_by_llhttp(sent)
    assert ours.whole == [(b"POST", b"/a?b", b"hello")] * 2


@pytest.mark.parametrize(
    "both",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 0",
    ],
)
def test_a_length_beside_a_coding_is_refused(both: bytes) -> None:
    assert read([HEAD + both + b"\r\n\r\n0\r\n\r\n"]).refused


ENDLESS = {
    "a request line": b"G" * (MAX_HEAD + READ_BYTES),
    "a head": HEAD + b"X: " + b"a" * (MAX_HEAD + READ_BYTES) + b"\r\n\r\n",
    "lines of a head": HEAD + b"X:\r\n" * MAX_HEAD + b"\r\n",
    "a chunk's first line": CHUNKED + b"5;" + b"a" * (MAX_HEAD + READ_BYTES),
    "trailers": CHUNKED + b"0\r\n" + b"X: a\r\n" * MAX_HEAD,
    "chunks": CHUNKED + b"1\r\na\r\n" * (MAX_SMALL_CHUNKS + 2),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_what_stands_beside_a_body_is_bounded(what: str) -> None:
    calls = read([ENDLESS[what]])

    assert calls.refused
    assert not calls.whole
