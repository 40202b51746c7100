"""Lists of phrases, compiled: how the word tables of this package are written."""

import re
from functools import cached_property

from cs.domain.names.plain_text import folded


class Phrases:
    """Phrases to look for in flat text (`cs.domain.names.plain_text.flat`).

    Args:
        spaced: Phrases of scripts that put spaces between words, parted by white
            space; ``_`` is a space within a phrase, ``*`` any letters of a word.
        unspaced: Phrases that count wherever they stand, parted by white space; ``_``
            as above.

    >>> Phrases("brand_manager marken*", "品牌").found("leiterin markenstrategie")
    True
    """

    def __init__(self, spaced: str, unspaced: str = "") -> None:
        self._written = spaced, unspaced

    @cached_property
    def _words(self) -> re.Pattern[str]:
        """Compiled when first looked for: all tables take 60 ms, and few commands read one."""
        spaced, unspaced = (
            sorted(phrases.split(), key=len, reverse=True) for phrases in self._written
        )
        words = "|".join(map(_spaced, spaced))
        inner = "|".join(re.escape(folded(phrase)).replace("_", r"\ ") for phrase in unspaced)
        # (?!) never matches: an empty table finds nothing.
        return re.compile(rf"(?<!\w)(?:{words or '(?!)'})(?!\w)|(?:{inner or '(?!)'})")

    def found(self, text: str) -> bool:
        """Say whether any phrase is in *text*."""
        return self._words.search(text) is not None

    def first(self, text: str) -> int | None:
        """Return where the first phrase begins, or None."""
        hit = self._words.search(text)
        return None if hit is None else hit.start()

    def without(self, text: str) -> str:
        """Return *text* with every phrase taken out."""
        return " ".join(self._words.sub(" ", text).split())


def _spaced(phrase: str) -> str:
    return re.escape(folded(phrase)).replace(r"\*", r"\w*").replace("_", r"\ ")


def word_set(text: str) -> frozenset[str]:
    """Return the words of *text*, parted by white space."""
    return frozenset(text.split())
