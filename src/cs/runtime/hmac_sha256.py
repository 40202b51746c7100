"""HMAC-SHA-256 (RFC 2104) of short messages, made of two plain hashes.

OpenSSL 3 sets up a MAC anew for each call: `hmac.digest` takes 10 microseconds for a name or
an address, this takes 2, and a live search makes 140 of them.
"""

from hashlib import sha256

_BLOCK = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    """Return the 32 bytes that `hmac.digest` returns.

    >>> hmac_sha256(b"Jefe", b"what do ya want for nothing?").hex()[:16]
    '5bdcc146bf60754e'
    """
    if len(key) > _BLOCK:
        key = sha256(key).digest()
    block = key.ljust(_BLOCK, b"\0")
    inner = sha256(block.translate(_INNER) + message).digest()
    return sha256(block.translate(_OUTER) + inner).digest()
