"""Opaque ids: random bits as Crockford base32, lower case; no time or count inside."""

import os

_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"


def random_id(prefix: str, characters: int = 26) -> str:
    """Return *prefix* and 5 random bits a character (26: 130 bits, contract S11)."""
    number = int.from_bytes(os.urandom((characters * 5 + 7) // 8), "big")
    digits = []
    for _ in range(characters):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return prefix + "".join(digits)
