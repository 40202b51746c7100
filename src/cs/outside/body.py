"""Bodies read with a limit, both as they come and as they unfold."""

import zlib
from collections.abc import AsyncIterator, Callable

from cs.outside.port import Unreachable

#: What is asked for and understood: the forms that zlib reads.
ACCEPT_ENCODING = "gzip, deflate"


async def read_body(parts: AsyncIterator[bytes], *, encoding: str, max_bytes: int) -> bytes:
    """Return the body in *parts*, unfolded; never holds much more than *max_bytes*.

    Args:
        parts: The body as it comes over the wire.
        encoding: The Content-Encoding, empty for none.
        max_bytes: Limit of what comes, and of what it unfolds to.

    Raises:
        Unreachable: ``too-large``; ``protocol`` for an encoding nobody asked for, or bytes
            that are not in it.
    """
    unfold = _unfolder(encoding)
    body = bytearray()
    came = 0
    async for part in parts:
        came += len(part)
        if came > max_bytes:
            raise Unreachable("too-large", f"more than {max_bytes} bytes")
        body += unfold(part, max_bytes + 1 - len(body))
        if len(body) > max_bytes:
            raise Unreachable("too-large", f"unfolds to more than {max_bytes} bytes")
    return bytes(body)


def _unfolder(encoding: str) -> Callable[[bytes, int], bytes]:
    match encoding.strip().lower():
        case "" | "identity":
            return lambda part, room: part[:room]
        case "gzip" | "x-gzip" | "deflate":
            return _Unzip().unfold
        case other:
            raise Unreachable("protocol", f"content-encoding {other!r}")


class _Unzip:
    """gzip and deflate, the latter with the zlib frame it should have or without.

    RFC 9110 8.4.1.2 knows of servers that leave the frame out.
    """

    def __init__(self) -> None:
        self._head = b""
        self._inflate: zlib._Decompress | None = None

    def unfold(self, part: bytes, room: int) -> bytes:
        if self._inflate is None:
            part = self._head = self._head + part
            if len(part) < 2:
                return b""
            self._inflate = zlib.decompressobj(_window(part))
        try:
            return self._inflate.decompress(part, room)
        except zlib.error as error:
            raise Unreachable("protocol", f"broken encoding: {error}") from error


def _window(head: bytes) -> int:
    """Return zlib's ``wbits`` for a stream that begins with *head* (RFC 1950 2.2, 1952 2.3)."""
    if head.startswith(b"\x1f\x8b"):
        return 16 + zlib.MAX_WBITS
    framed = head[0] & 0x0F == 8 and int.from_bytes(head[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if framed else -zlib.MAX_WBITS
