"""Encoded bodies made to cost much: each is read, or refused, within a budget."""

import asyncio
import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cs.outside.port import Unreachable
from harness.budget import mib_of, seconds_of
from harness.clients import trusted_client
from outside.loopback_web import WebRequest, serve

MAX_BYTES = 2 * 1024 * 1024  # of a body as it comes, and decompressed


async def unfolded(body: bytes, encoding: str = "gzip", size: int = 65_536) -> bytes | str:
    """Return what *body*, sent in pieces of *size*, unfolds to, or why it does not."""

    async def answer(_: WebRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\n\r\n" % encoding.encode())
        for start in range(0, len(body), size):
            writer.write(body[start : start + size])
            await writer.drain()

    async with serve(answer) as web, trusted_client() as client:
        try:
            return (await client.get(web.url)).body
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
    def read() -> None:
        asyncio.run(unfolded(BOMBS[bomb][:MAX_BYTES], size=size))

    assert seconds_of(read) < 1
    # What it unfolds to, once more as it grows, and what comes in.
    assert mib_of(read) < 16


@pytest.mark.parametrize("bomb", ["a gigabyte of zeros", "just too much"])
async def test_a_bomb_is_too_large(bomb: str) -> None:
    assert await unfolded(BOMBS[bomb]) == "too-large"


FEW = settings(max_examples=settings().max_examples // 4)


@FEW
@given(st.binary(max_size=200), st.sampled_from(["gzip", "deflate", ""]), st.integers(1, 9))
async def test_any_bytes_unfold_or_are_refused(body: bytes, encoding: str, size: int) -> None:
    came = await unfolded(body, encoding, size)

    assert isinstance(came, bytes) or came == "protocol"


@FEW
@given(st.binary(max_size=500), st.integers(1, 7), st.sampled_from([31, 15, -15]))
async def test_a_body_unfolds_however_it_is_cut(body: bytes, size: int, frame: int) -> None:
    packing = zlib.compressobj(wbits=frame)
    packed = packing.compress(body) + packing.flush()

    assert await unfolded(packed, "gzip" if frame == 31 else "deflate", size) == body


async def test_what_comes_counts_too_even_if_it_unfolds_to_little() -> None:
    assert await unfolded(gzip.compress(b"Acme") + b"x" * MAX_BYTES) == "too-large"
