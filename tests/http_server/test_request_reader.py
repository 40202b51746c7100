"""What is read from hostile bytes, beside what h11 reads, another parser of another author.

A proxy before the service may read as either does.  So no call may be seen that h11 does not
see with the same bytes, and what h11 refuses is refused.
"""

import gc
from typing import NamedTuple

import h11
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cs.http_server.request_reader import MAX_HEAD, RETAINED, Head, Malformed, RequestReader


class Call(NamedTuple):
    method: bytes
    target: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Outcome(NamedTuple):
    """Calls that came whole, and whether the rest was refused."""

    calls: tuple[Call, ...]
    refused: bool


def read(sent: list[bytes]) -> Outcome:
    """Return what we make of *sent*, which comes piece by piece."""
    reader = RequestReader()
    calls: list[Call] = []
    head: Head | None = None
    body, ends = b"", False
    for piece in sent:
        reader.receive(piece)
        try:
            while reader.has_unread and not ends:
                if not reader.in_body:
                    head = reader.read_head()
                    if head is None:
                        break
                    body = b""
                assert head is not None
                body += reader.read_body()
                if reader.in_body:
                    break
                calls.append(Call(head.method.encode(), head.target, tuple(head.headers), body))
                ends = not head.keep_alive
        except Malformed:
            return Outcome(tuple(calls), refused=True)
    return Outcome(tuple(calls), refused=False)


def read_by_h11(sent: bytes) -> Outcome:
    """Return what h11 makes of *sent*, every call answered when it has come whole."""
    connection = h11.Connection(h11.SERVER, MAX_HEAD)
    connection.receive_data(sent)
    calls: list[Call] = []
    request: h11.Request | None = None
    body = b""
    try:
        while True:
            event = connection.next_event()
            match event:
                case h11.Request():
                    named = {name for name, _ in event.headers}
                    framing = named & {b"content-length", b"transfer-encoding"}
                    if len(framing) == 2 or (
                        b"transfer-encoding" in framing and event.http_version < b"1.1"
                    ):
                        return Outcome(tuple(calls), refused=True)
                    request, body = event, b""
                case h11.Data():
                    body += event.data
                case h11.EndOfMessage():
                    assert request is not None
                    headers = tuple(
                        (name.lower(), value.translate(RETAINED))
                        for name, value in request.headers
                    )
                    calls.append(Call(request.method, request.target, headers, body))
                    connection.send(h11.Response(status_code=404, headers=[]))
                    connection.send(h11.EndOfMessage())
                    if connection.our_state is not h11.DONE:
                        return Outcome(tuple(calls), refused=False)
                    connection.start_next_cycle()
                case _:
                    return Outcome(tuple(calls), refused=False)
    except h11.RemoteProtocolError:
        return Outcome(tuple(calls), refused=True)


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


@settings(max_examples=2 * settings().max_examples)
@given(conversations())
@example([OFFERING, b"GET /"])
def test_no_call_is_seen_that_another_parser_does_not_see(sent: list[bytes]) -> None:
    ours, theirs = read(sent), read_by_h11(b"".join(sent))

    assert ours.calls == theirs.calls[: len(ours.calls)]
    if theirs.refused:
        assert ours.refused or ours.calls == theirs.calls  # the rest of a head is waited for
    elif not ours.refused:
        assert ours.calls == theirs.calls


@settings(max_examples=settings().max_examples * 3 // 5)
@given(conversations())
def test_what_is_read_does_not_depend_on_how_it_comes(sent: list[bytes]) -> None:
    assert read(sent) == read([b"".join(sent)])


def test_a_head_that_was_read_leaves_nothing_for_the_garbage_collector() -> None:
    gc.collect(1)
    gc.disable()
    try:
        for _ in range(200):
            reader = RequestReader()
            reader.receive(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert reader.read_head() is not None
        left, _, _ = gc.get_count()
    finally:
        gc.enable()

    assert left < 200, "new objects that are there still; a head that leaves any leaves several"


def test_a_good_call_is_seen_by_both() -> None:
    """So that the properties are not those of a reader that refuses everything."""
    head = b"POST /a?b HTTP/1.1\r\nHost: x\r\nX-A:  b \r\n"
    sent = (
        head + b"Content-Length: 5\r\n\r\nhello" + head + b"Transfer-Encoding: chunked\r\n\r\n"
    )
    sent += b"5\r\nhello\r\n0\r\n\r\n"

    ours = read([bytes([one]) for one in sent])

    assert ours == read_by_h11(sent)
    assert [call.body for call in ours.calls] == [b"hello", b"hello"]


@pytest.mark.parametrize(
    "sent",
    [
        b"G" * (MAX_HEAD + 1),
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * MAX_HEAD + b"\r\n\r\n",
    ],
)
def test_a_head_that_is_too_long_is_refused(sent: bytes) -> None:
    assert read([sent]) == Outcome((), refused=True)


@pytest.mark.parametrize(
    "endless",
    [b"5;" + b"a" * (MAX_HEAD + 1), b"0\r\n" + b"X: a\r\n" * (MAX_HEAD // 6 + 1)],
    ids=["a chunk's first line", "trailers"],
)
def test_what_stands_beside_a_body_is_bounded(endless: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

    assert read([head, endless]) == Outcome((), refused=True)
