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


class Mention:
    """Finds a name in many folded texts, as whole words."""

    def __init__(self, name: str) -> None:
        self._name = fold(name)
        self._whole = re.compile(rf"(?<!\w){re.escape(self._name)}(?!\w)")

    def stands_in(self, folded: str) -> bool:
        # The plain look is ten times as fast, and all that most texts take.
        return self._name in folded and self._whole.search(folded) is not None


def mentions(text: str, name: str) -> bool:
    """Say whether *name* stands in *text* as whole words, both folded.

    >>> mentions('site:linkedin.com/in "Kivandra" social', "kivandra")
    True
    >>> mentions("kivandras", "Kivandra")
    False
    """
    return Mention(name).stands_in(fold(text))
