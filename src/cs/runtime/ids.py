"""Opaque ids: random bits as Crockford base32, lower case; no time or count inside."""

import os

#: Crockford base32, lower case: each character for eight of the 256 values of a byte.
_CROCKFORD = b"0123456789abcdefghjkmnpqrstvwxyz" * 8


def random_id(prefix: str, characters: int = 26) -> str:
    """Return *prefix* and 5 random bits a character (26: 130 bits, contract S11)."""
    return prefix + os.urandom(characters).translate(_CROCKFORD).decode()
