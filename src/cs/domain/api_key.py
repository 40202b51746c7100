"""API keys as text: ``cs_live_``, 32 random base62 characters, 6 of checksum.

Tokens of the console's operators are of the same form, after ``cs_op_``.

The checksum finds typos without a look-up and lets secret scanners recognise a leaked key.
Only the SHA-256 of all of the text is ever stored; 190 random
bits need no slow hash.
"""

import hashlib
import zlib

PREFIX = "cs_live_"
OPERATOR_PREFIX = "cs_op_"
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SECRET, _CHECKSUM = 32, 6
_LENGTH = len(PREFIX) + _SECRET + _CHECKSUM


def make_key(entropy: bytes, prefix: str = PREFIX) -> str:
    """Return the key made of *entropy*, at least 24 random bytes.

    Raises:
        ValueError: Too little entropy.
    """
    if len(entropy) < 24:
        raise ValueError(f"24 bytes or more are needed, not {len(entropy)}")
    secret = _base62(int.from_bytes(entropy, "big"), _SECRET)
    return f"{prefix}{secret}{_checksum(secret)}"


def well_formed(key: str) -> bool:
    """Return whether *key* can be one of ours: form and checksum.

    >>> well_formed(make_key(bytes(range(24)))), well_formed("cs_live_nonsense")
    (True, False)
    """
    if len(key) != _LENGTH or not key.startswith(PREFIX) or not key.isascii():
        return False
    secret = key[len(PREFIX) : len(PREFIX) + _SECRET]
    return key.endswith(_checksum(secret)) and not secret.strip(_DIGITS)


def hash_key(key: str) -> str:
    """Return what is stored of *key*: its SHA-256, hex."""
    return hashlib.sha256(key.encode()).hexdigest()


def _checksum(secret: str) -> str:
    return _base62(zlib.crc32(secret.encode()), _CHECKSUM)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
