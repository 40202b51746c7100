"""Chances and comparisons that follow from a world's seed and texts alone."""

import hashlib
import re
import unicodedata
import zlib


def drawn(seed: int, *about: str) -> float:
    """Return a number from 0 to 1 that belongs to *about*, as if drawn.

    A checksum would not do: those of two texts of one length differ by a constant.

    >>> drawn(1, "hunter", "acme.test") == drawn(1, "hunter", "acme.test")
    True
    >>> sum(drawn(1, str(number)) < 0.3 for number in range(1000)) in range(250, 350)
    True
    """
    text = "\n".join((str(seed), *about)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) / 2**64


def mark(seed: int, text: str) -> int:
    """Return a number by which equals are put in order."""
    return zlib.crc32(f"{seed} {text}".encode())


def fold(text: str) -> str:
    """Return *text* without case and accents, its words one space apart.

    >>> fold("  Zoë  Ångström-Ruiz ")
    'zoe angstrom-ruiz'
    """
    letters = text.casefold()
    if not letters.isascii():
        plain = unicodedata.normalize("NFKD", letters)
        letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(letters.split())


def mentions(text: str, name: str) -> bool:
    """Return whether *name* stands in *text* as whole words, both folded.

    >>> mentions('site:linkedin.com/in "Kivandra" social', "kivandra")
    True
    >>> mentions("kivandras", "Kivandra")
    False
    """
    return stands_in(fold(text), fold(name))


def stands_in(folded: str, name: str) -> bool:
    """Return whether the folded *name* stands in the *folded* text as whole words."""
    # The plain look is ten times as fast, and all that most texts take.
    return name in folded and bool(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", folded))
