"""Bodies read with limits, as they come over the wire and decompressed."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable
from typing import ParamSpec, TypeVar

from cs.outside.port import Unreachable

#: Content-Encodings that are asked for and read: those of zlib.
ACCEPT_ENCODING = "gzip, deflate"
#: Parts of a body, of which each chunk is one at least.  2 MiB in TCP segments are 1,500.
PARTS = 16_384
#: Bytes of an answer that are parsed on the event loop: as JSON they take 7 ms at worst.
ON_THE_LOOP = 64 * 1024
#: Parts that are read in one turn of the event loop; each costs about 30 µs.
_PARTS_PER_TURN = 64

P = ParamSpec("P")
T = TypeVar("T")


async def parse_aside(size: int, parse: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what *parse* makes of an answer of *size* bytes; a long one waits for a thread."""
    if size <= ON_THE_LOOP:
        return parse(*args, **kwargs)
    return await asyncio.to_thread(parse, *args, **kwargs)


async def read_body(parts: AsyncIterator[bytes], *, encoding: str, max_bytes: int) -> bytes:
    """Return the body in *parts*, decompressed.

    Args:
        parts: The body as it comes over the wire.
        encoding: The Content-Encoding, empty for none.
        max_bytes: Limit of what comes, and of what it decompresses to.

    Raises:
        Unreachable: ``too-large``, also for more than `PARTS`; ``protocol`` for an encoding
            that was not asked for, or bytes that are not in it.
    """
    encoding = encoding.strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip", "deflate"}:
        raise Unreachable("protocol", f"content-encoding {encoding!r}")
    body, count = bytearray(), 0
    async for part in parts:
        body += part
        count += 1
        if len(body) > max_bytes or count > PARTS:
            raise Unreachable("too-large", f"more than {max_bytes} bytes or {PARTS} parts")
        if count % _PARTS_PER_TURN == 0:
            await asyncio.sleep(0)
    if encoding in {"", "identity"}:
        return bytes(body)
    return await asyncio.to_thread(_decompress, bytes(body), max_bytes)


def _decompress(body: bytes, max_bytes: int) -> bytes:
    """Return *body* out of gzip or deflate, whatever comes behind it left out."""
    if len(body) < 2:
        return b""
    try:
        found = zlib.decompressobj(_window(body)).decompress(body, max_bytes + 1)
    except zlib.error as error:
        raise Unreachable("protocol", f"broken encoding: {error}") from error
    if len(found) > max_bytes:
        raise Unreachable("too-large", f"decompresses to more than {max_bytes} bytes")
    return found


def _window(head: bytes) -> int:
    """Return zlib's ``wbits`` for a stream that begins with *head* (RFC 1950 2.2, 1952 2.3).

    Some servers send deflate without the frame of zlib (RFC 9110 8.4.1.2).
    """
    if head.startswith(b"\x1f\x8b"):
        return 16 + zlib.MAX_WBITS
    framed = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if framed else -zlib.MAX_WBITS
