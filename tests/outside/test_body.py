import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.outside.body import read_body
from cs.outside.port import Unreachable


async def parts(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def unfold(
    body: bytes, encoding: str, *, size: int = 65_536, limit: int = 100_000
) -> bytes:
    return await read_body(parts(body, size), encoding=encoding, max_bytes=limit)


async def too_large(body: bytes, encoding: str, *, size: int = 65_536) -> bool:
    with pytest.raises(Unreachable) as caught:
        await unfold(body, encoding, size=size)
    return caught.value.why == "too-large"


def folded(body: bytes, encoding: str) -> bytes:
    match encoding:
        case "gzip":
            return gzip.compress(body)
        case "deflate":
            return zlib.compress(body)
        case _:
            return body


@pytest.mark.slow
async def test_a_bomb_is_stopped_before_it_fills_the_memory() -> None:
    bomb = gzip.compress(b"\0" * 50_000_000)
    tracemalloc.start()
    try:
        assert await too_large(bomb, "gzip")
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert most < 2_000_000


async def test_what_comes_counts_too_even_if_it_unfolds_to_little() -> None:
    assert await too_large(gzip.compress(b"Acme") + b"x" * 100_000, "gzip")


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "deflate"])
async def test_a_body_of_just_the_limit_is_whole(encoding: str) -> None:
    assert await unfold(folded(b"A" * 100_000, encoding), encoding) == b"A" * 100_000
    assert await too_large(folded(b"A" * 100_001, encoding), encoding)


@given(
    body=st.binary(max_size=500), size=st.integers(1, 7), frame=st.sampled_from([31, 15, -15])
)
async def test_it_unfolds_however_it_is_cut(body: bytes, size: int, frame: int) -> None:
    packer = zlib.compressobj(wbits=frame)
    packed = packer.compress(body) + packer.flush()

    assert await unfold(packed, "gzip" if frame == 31 else "deflate", size=size) == body


@given(body=st.binary(max_size=200), encoding=st.sampled_from(["gzip", "deflate"]))
async def test_any_bytes_unfold_or_are_refused(body: bytes, encoding: str) -> None:
    why = ""
    try:
        await unfold(body, encoding, size=5)
    except Unreachable as error:
        why = error.why
    assert why in {"", "protocol"}
