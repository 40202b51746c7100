"""Text as a search engine compares it."""

import re
import unicodedata


def fold(text: str) -> str:
    """Return *text* without case and accents, its words one space apart.

    >>> fold("  Zoë  Ångström-Ruiz ")
    'zoe angstrom-ruiz'
    """
    letters = text.casefold()
    if not letters.isascii():  # most are: a search compares thousands of texts
        plain = unicodedata.normalize("NFKD", letters)
        letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(letters.split())


def mentions(text: str, name: str) -> bool:
    """Say whether *name* stands in *text* as whole words, both folded.

    >>> mentions('site:linkedin.com/in "Kivandra" social', "kivandra")
    True
    >>> mentions("kivandras", "Kivandra")
    False
    """
    return re.search(rf"(?<!\w){re.escape(fold(name))}(?!\w)", fold(text)) is not None
