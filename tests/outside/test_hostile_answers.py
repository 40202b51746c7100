"""Bodies and DNS answers made to cost much: each is read, or refused, within a budget."""

import asyncio
import gzip
import struct
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import dns.message
import dns.rrset
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.outside.body import read_body
from cs.outside.port import MailHosts, Unreachable
from cs.outside.resolver import DnsResolver
from cs.outside.single_request import MAX_BYTES
from cs.sandbox.dns import name_server
from cs.sandbox.run import free_port
from harness.budget import mib_of, seconds_of

T = TypeVar("T")

# Encoded bodies.


async def parts_of(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def unfolded(body: bytes, encoding: str = "gzip", size: int = 65_536) -> bytes | str:
    """Return what *body* unfolds to, or why it does not."""
    try:
        return asyncio.run(
            read_body(parts_of(body, size), encoding=encoding, max_bytes=MAX_BYTES)
        )
    except Unreachable as error:
        return error.why


def deflated(block: bytes, times: int) -> bytes:
    """Return *block* compressed again and again within one stream, so it grows no more.

    Compressed twice only: after a full flush (RFC 1951 section 2) nothing refers to what came
    before, so the second time is every time.  The trailer counts two, which nobody gets to.
    """
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    first, again = (packing.compress(block) + packing.flush(zlib.Z_FULL_FLUSH) for _ in "ab")
    return first + again * (times - 1) + packing.flush()


#: Empty stored blocks (RFC 1951 3.2.4): input without end and never any output.
EMPTY_BLOCKS = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + b"\0\0\0\xff\xff" * (MAX_BYTES // 5 - 9)
BOMBS = {
    "a gigabyte of zeros": deflated(b"\0" * (1 << 20), 1_000),
    "just too much": gzip.compress(b"x" * (MAX_BYTES + 1)),
    "empty blocks": EMPTY_BLOCKS,
    "members": gzip.compress(b"") * 90_000,
    "a name without end": b"\x1f\x8b\x08\x08\0\0\0\0\0\xff" + b"n" * (MAX_BYTES - 10),
    "cut off": gzip.compress(b"x" * MAX_BYTES)[:-9],
    "noise": b"\x1f\x8b" + bytes(range(256)) * 8_000,
}


@pytest.mark.parametrize("size", [1_000, MAX_BYTES])
@pytest.mark.parametrize("bomb", BOMBS)
def test_an_encoded_body_costs_no_more_than_its_limit(bomb: str, size: int) -> None:
    body = BOMBS[bomb][:MAX_BYTES]

    assert seconds_of(lambda: unfolded(body, size=size)) < 1
    # What it unfolds to, once more as it grows, and what comes in.
    assert mib_of(lambda: unfolded(body, size=size)) < 16


@pytest.mark.parametrize("bomb", ["a gigabyte of zeros", "just too much"])
def test_a_bomb_is_too_large(bomb: str) -> None:
    assert unfolded(BOMBS[bomb]) == "too-large"


@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", ""]), st.integers(1, 9))
def test_any_bytes_unfold_or_are_refused(body: bytes, encoding: str, size: int) -> None:
    came = unfolded(body, encoding, size)

    assert isinstance(came, bytes) or came == "protocol"


@given(st.binary(max_size=500), st.integers(1, 7), st.sampled_from([31, 15, -15]))
def test_a_body_unfolds_however_it_is_cut(body: bytes, size: int, frame: int) -> None:
    packing = zlib.compressobj(wbits=frame)
    packed = packing.compress(body) + packing.flush()

    assert unfolded(packed, "gzip" if frame == 31 else "deflate", size) == body


def test_what_comes_counts_too_even_if_it_unfolds_to_little() -> None:
    assert unfolded(gzip.compress(b"Acme") + b"x" * MAX_BYTES) == "too-large"


# DNS.

Responding = Callable[[bytes], bytes | None]


@asynccontextmanager
async def responding(respond: Responding, timeout_s: float = 0.3) -> AsyncIterator[DnsResolver]:
    """A resolver whose server says what *respond* makes of the question, over UDP and TCP."""

    def cut(data: bytes, _tcp: bool) -> bytes | None:
        said = respond(data)
        return None if said is None else said[:65_000]

    address = "127.0.0.1", free_port("127.0.0.1")
    async with name_server(cut, *address):
        yield DnsResolver(address, timeout_s)


async def asked(respond: Responding) -> tuple[MailHosts | str, tuple[str, ...] | str]:
    """Return what the resolver makes of *respond* for exchangers and for addresses."""
    async with responding(respond, timeout_s=0.1) as resolver:
        return await asyncio.gather(
            or_why(resolver.mail_hosts("acme.test")), or_why(resolver.addresses("acme.test"))
        )


async def or_why(answer: Awaitable[T]) -> T | str:
    try:
        return await answer
    except Unreachable as error:
        return error.why


def head(query: bytes, *, answers: int, flags: int = 0x8580) -> bytes:
    return query[:2] + struct.pack("!HHHHH", flags, 1, answers, 0, 0)


def question_of(query: bytes) -> bytes:
    return query[12 : query.index(b"\0", 12) + 5]


def record(kind: int, data: bytes, name: bytes = b"\xc0\x0c") -> bytes:
    return name + struct.pack("!HHIH", kind, 1, 60, len(data)) + data


def saying(kind: int, *datas: bytes, name: bytes = b"\xc0\x0c") -> Responding:
    records = b"".join(record(kind, data, name) for data in datas)

    def respond(query: bytes) -> bytes:
        return head(query, answers=len(datas)) + question_of(query) + records

    return respond


def made(*texts: tuple[str, str]) -> Responding:
    """Answer with records of (kind, text), as far as dnspython can say them."""

    def respond(query: bytes) -> bytes:
        response = dns.message.make_response(dns.message.from_wire(query))
        name = response.question[0].name
        for kind, text in texts:
            response.answer.append(dns.rrset.from_text(name, 60, "IN", kind, text))
        return response.to_wire(max_size=65_535)

    return respond


LONG = b"\x3f" + b"a" * 63
ANSWERS: dict[str, Responding] = {
    "nothing": lambda _: b"",
    "half a head": lambda query: query[:7],
    "the question back": lambda query: query,
    "somebody else's": lambda query: b"\0\0" + query[2:],
    "no records where many are told": lambda q: head(q, answers=65_535) + question_of(q),
    "a name that is itself": saying(1, b"\1\2\3\4", name=b"\xc0\x1c"),
    "names that are each other": lambda q: (
        head(q, answers=1) + question_of(q) + b"\xc0\x1d\xc0\x1b"
    ),
    "a pointer ahead": saying(15, b"\0\1\xc0\xff"),
    "a pointer far out": saying(15, b"\0\1\xff\xff"),
    "a label without end": saying(15, b"\0\1\x3fa"),
    "a kind of label that is none": saying(15, b"\0\1\x80a\0"),
    "a name of 256": saying(15, b"\0\1" + LONG * 4 + b"\0"),
    "an address of 3": saying(1, b"\1\2\3"),
    "bytes that are no letters": saying(15, b"\0\1\4\0\xff\x1b.\4test\0"),
    "itself by another name": made(("CNAME", "acme.test.")),
    "a thousand exchangers": saying(15, *(b"\0\1\4m%03d\xc0\x0c" % n for n in range(1_000))),
    "four thousand addresses": saying(1, *(struct.pack("!I", n) for n in range(4_000))),
    "cut off": lambda q: head(q, answers=0, flags=0x8780) + question_of(q),
    "a chain of names": made(*(("CNAME", f"n{n}.test.") for n in range(3))),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
async def test_a_dns_answer_is_read_or_none_and_soon(name: str) -> None:
    started = time.thread_time()
    hosts, addresses = await asked(ANSWERS[name])

    assert time.thread_time() - started < 2
    assert hosts == "dns" or isinstance(hosts, MailHosts)
    assert addresses == "dns" or isinstance(addresses, tuple)


#: Asked at once, since most of what it costs is waiting for a better answer.
noises = st.lists(st.tuples(st.binary(max_size=120), st.booleans()), min_size=1, max_size=20)


@pytest.mark.slow
@settings(max_examples=5)
@given(noises)
async def test_any_bytes_are_an_answer_or_none(sent: list[tuple[bytes, bool]]) -> None:
    answers = await asyncio.gather(*(asked(responding_with(*each)) for each in sent))

    for hosts, addresses in answers:
        assert hosts == "dns" or isinstance(hosts, MailHosts)
        assert addresses == "dns" or isinstance(addresses, tuple)


def responding_with(noise: bytes, after_the_question: bool) -> Responding:
    def respond(query: bytes) -> bytes:
        start = head(query, answers=1 + len(noise) % 3) + question_of(query)
        return (start if after_the_question else query[:2]) + noise

    return respond
