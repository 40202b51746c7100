"""Chances that follow from a world's seed alone."""

import hashlib


def drawn(seed: int, *about: str) -> float:
    """Return a number from 0 to 1 that belongs to *about*, as if drawn.

    A checksum would not do: those of two texts of one length differ by a constant.

    >>> drawn(1, "hunter", "acme.test") == drawn(1, "hunter", "acme.test")
    True
    >>> sum(drawn(1, str(number)) < 0.3 for number in range(1000)) in range(250, 350)
    True
    """
    told = "\n".join((str(seed), *about)).encode()
    return int.from_bytes(hashlib.blake2b(told, digest_size=8).digest()) / 2**64
