"""Lists of phrases, looked up word by word: how the word tables of this package are written."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import TypeAlias

from cs.domain.names.plain_text import folded, word_set

__all__ = ["Phrases", "any_of", "word_set"]


class Phrases:
    """Phrases to look for in flat text (`cs.domain.names.plain_text.flat`).

    A search looks each word up, so that it costs the same however many phrases there are,
    and nothing is compiled but the phrases of scripts without spaces.

    Args:
        spaced: Phrases of scripts that put spaces between words, parted by white
            space; ``_`` is a space within a phrase, ``*`` any letters of a word,
            of whose beginning none or at least two letters are given.
        unspaced: Phrases that count wherever they stand, parted by white space; ``_``
            as above.

    >>> Phrases("brand_manager marken*", "品牌").found("leiterin markenstrategie")
    True
    """

    def __init__(self, spaced: str, unspaced: str = "") -> None:
        self.written = spaced, unspaced

    @classmethod
    def of(cls, *tables: "Phrases") -> "Phrases":
        """Return one table of all that is in *tables*: one search, not several."""
        written = [table.written for table in tables]
        return cls(" ".join(each[0] for each in written), " ".join(each[1] for each in written))

    @cached_property
    def _spaced(self) -> "_Words":
        return _Words(folded(self.written[0]).split())

    @cached_property
    def _unspaced(self) -> re.Pattern[str]:
        return re.compile(any_of(folded(self.written[1]).split()))

    def found(self, text: str) -> bool:
        """Say whether any phrase is in *text*."""
        words = text.split(" ")
        if self._spaced.has_one_of(words) or self._spaced.first(words) is not None:
            return True
        return not text.isascii() and self._unspaced.search(text) is not None

    def first(self, text: str) -> int | None:
        """Return where the first phrase begins, or None."""
        words = text.split(" ")
        n = self._spaced.first(words)
        start = None if n is None else sum(map(len, words[:n])) + n
        inner = None if text.isascii() else self._unspaced.search(text)
        if inner is None:
            return start
        return inner.start() if start is None else min(start, inner.start())

    def without(self, text: str) -> str:
        """Return *text* with every phrase taken out."""
        left = self._spaced.without(text.split())
        if text.isascii():
            return " ".join(left)
        return " ".join(self._unspaced.sub(" ", " ".join(left)).split())


class _Words:
    """Phrases by their first words.

    ``_firsts`` has those whose first word is spelt out, ``_stems`` those whose first word
    begins with some letters, by the first two of them, and ``_ends`` those whose first word
    ends in some.
    """

    def __init__(self, phrases: Iterable[str]) -> None:
        self._firsts: dict[str, list[_Rest]] = {}
        self._stems: dict[str, list[tuple[str, str, _Rest]]] = {}
        self._ends: dict[str, list[_Rest]] = {}
        for phrase in sorted(phrases, key=len, reverse=True):
            word, *rest = phrase.split("_")
            stem, star, end = word.partition("*")
            if not star:
                self._firsts.setdefault(word, []).append(tuple(rest))
            elif stem:
                self._stems.setdefault(stem[:2], []).append((stem, end, tuple(rest)))
            else:
                self._ends.setdefault(end, []).append(tuple(rest))
        self._endings = tuple(self._ends)
        self._single = {word for word, rests in self._firsts.items() if () in rests}

    def has_one_of(self, words: list[str]) -> bool:
        """Say whether one of *words* is a phrase by itself, spelt out."""
        return not self._single.isdisjoint(words)

    def first(self, words: list[str]) -> int | None:
        """Return the place of the first word of the first phrase in *words*, or None."""
        firsts, stems, endings = self._firsts, self._stems, self._endings
        for n, word in enumerate(words):
            may_begin = word in firsts or word[:2] in stems or word.endswith(endings)
            if may_begin and self._length(words, n):
                return n
        return None

    def without(self, words: list[str]) -> list[str]:
        """Return *words* without those of phrases."""
        n = self.first(words)
        if n is None:
            return words
        left = words[:n]
        while n < len(words):
            length = self._length(words, n)
            if not length:
                left.append(words[n])
            n += length or 1
        return left

    def _length(self, words: list[str], n: int) -> int:
        """Return how many words the longest phrase at *n* has; 0 if there is none."""
        word, longest = words[n], 0
        for rest in self._firsts.get(word, ()):
            if len(rest) >= longest and (not rest or _fits(rest, words, n)):
                longest = 1 + len(rest)
        for stem, end, rest in self._stems.get(word[:2], ()):
            if (
                len(rest) >= longest
                and word.startswith(stem)
                and word.endswith(end)
                and (not rest or _fits(rest, words, n))
            ):
                longest = 1 + len(rest)
        if word.endswith(self._endings):
            for end, rests in self._ends.items():
                if word.endswith(end):
                    for rest in rests:
                        if len(rest) >= longest and (not rest or _fits(rest, words, n)):
                            longest = 1 + len(rest)
        return longest


#: The words of a phrase after its first one.
_Rest: TypeAlias = tuple[str, ...]


def _fits(rest: _Rest, words: list[str], n: int) -> bool:
    """Say whether *rest* follows word *n*."""
    following = words[n + 1 : n + 1 + len(rest)]
    return len(following) == len(rest) and all(map(_is, following, rest))


def _is(word: str, wanted: str) -> bool:
    stem, star, end = wanted.partition("*")
    if not star:
        return word == wanted
    return word.startswith(stem) and word.endswith(end) and len(word) >= len(stem) + len(end)


#: A letter, or one of ``_`` and ``*``, and what may follow it; ``""`` is an end.
_Tree: TypeAlias = "dict[str, _Tree]"


def any_of(phrases: Iterable[str]) -> str:
    r"""Return a regular expression for any of *phrases*, the longest where several fit.

    Beginnings in common are read once: what a search costs grows with the letters that
    phrases begin with, not with the number of phrases.

    Args:
        phrases: In the notation of `Phrases`.

    >>> any_of(["brand", "brand_man*", "bar"])
    'b(?:rand(?:\\ man\\w*)?|ar)'
    """
    tree: _Tree = {}
    for phrase in phrases:
        branch = tree
        for letter in phrase:
            branch = branch.setdefault(letter, {})
        branch[""] = {}
    # (?!) never matches: an empty table finds nothing.
    return _pattern(tree) if tree else "(?!)"


def _pattern(tree: _Tree) -> str:
    # What any letters may stand for comes last: a phrase spelt out is the longer one.
    letters = sorted((letter for letter in tree if letter), key="*".__eq__)
    ways = [_LETTER.get(each, re.escape(each)) + _pattern(tree[each]) for each in letters]
    if not ways:
        return ""
    if "" in tree:
        return f"(?:{'|'.join(ways)})?"
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


_LETTER = {"_": r"\ ", "*": r"\w*"}
