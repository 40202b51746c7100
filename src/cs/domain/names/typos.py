"""Weighted distance between a word and another that it may be a typo of.

A typing or hearing error is one of few kinds: a letter doubled, left out, swapped with its
neighbour, a vowel or a letter that sounds alike in place of another, the next key.  Names
of two brands differ in other ways: "Lara" is not "Zara", "Dysona" is no Dyson.  So a difference
has a weight by what it is, not by the number of letters alone.  Pure.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from cs.domain.names.brand_match import name_keys

#: A difference of more than this share of a name's letters is another name.
MOST = 0.105
#: Shorter names have too many pairs: of 1,100 names of five letters in the bundled
#: directory 41 % are one letter away from another, of those of four 77 %.
SHORTEST = 5

#: Of a word among others more may be wrong, and it must not be shorter.
_MOST_OF_WORD = 0.22
_WORD = 4
#: ... but for one letter doubled or not: "Michael Hil".
_SHORT_WORD, _MOST_OF_SHORT_WORD = 3, 0.11
#: ... and for a word with the same consonants, as many as this.
_CONSONANTS_OF_WORD = 3

_VOWELS = frozenset("aeiouy")
#: Two letters that are heard as one: "Vodaphone".
_SOUND_OF_TWO = {"ph": "f", "ck": "k", "ks": "x", "qu": "k", "oo": "u", "ee": "i"}
#: Letters that are heard alike.
_SOUNDS = ("ckqxh", "szxc", "vwf", "iyj", "dt", "bp", "gj", "mn", "uw")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")

_DOUBLED = 0.4
_SWAPPED = 0.5
_LIKE_SOUND = 0.5
_VOWEL = 0.6
_NEXT_KEY = 0.7
_LEFT_OUT = 0.7
_EXTRA = 0.9
#: It is not heard inside most names: "Lambhorgini", "Micheal Kohrs".
_SILENT, _SILENT_LETTER = "h", 0.5
_SWAPPED_OVER_ONE = 0.8
_OTHER = 1.2
#: More for the first letter, which people know, and for one more or less at the end, which
#: makes another word.
_FIRST = 0.6
_ADDED_AT_END = 0.6
_LEFT_OUT_AT_END = 0.3
#: Of names with the same consonants, as many as this, only the vowels were misheard.
_CONSONANTS = 5
#: Wrong letters that are looked for, one more in a long name.
_FEW, _LONG = 2, 11
_SAME_CONSONANTS = 0.9


def _pairs(groups: Iterable[str]) -> frozenset[tuple[str, str]]:
    return frozenset((a, b) for group in groups for a in group for b in group if a != b)


def _next_keys() -> frozenset[tuple[str, str]]:
    pairs = [(row[n], row[n + 1]) for row in _ROWS for n in range(len(row) - 1)]
    for upper, lower in pairwise(_ROWS):
        for n, key in enumerate(lower):
            pairs += [(key, other) for other in upper[n : n + 2]]
    return frozenset(pairs) | frozenset((b, a) for a, b in pairs)


_ALIKE = _pairs(_SOUNDS)
_NEIGHBOURS = _next_keys()


@lru_cache(maxsize=4096)
def typo_distance(asked: str, known: str) -> float:
    """Return the weight of what makes *asked* differ from *known*, by letter of *known*.

    0.0 is equal; more than `MOST` is another name.  Both are keys of names: lower case,
    without spaces.

    >>> round(typo_distance("addidas", "adidas"), 2), round(typo_distance("zora", "zara"), 2)
    (0.07, 0.15)
    """
    if asked == known:
        return 0.0
    if not asked or not known:
        return 1.0
    weight = _weight(asked, known)
    heard = _consonants(known)
    if len(heard) >= _CONSONANTS and heard == _consonants(asked) and asked[0] == known[0]:
        weight = min(weight, _SAME_CONSONANTS)
    return weight / len(known)


def most_wrong_letters(name: str) -> int:
    """Return how many letters of *name* may be wrong at most."""
    return _FEW if len(name) < _LONG else _FEW + 1


def is_typo(asked: str, known: str, most: float = MOST) -> bool:
    """Say whether *asked* may be *known*, written wrong."""
    return typo_distance(asked, known) <= most


def is_typo_by_words(asked: str, known: str) -> bool:
    """Say whether each word of *asked* may be its word in *known*, written wrong.

    "ASN Bank" is close to "ASB Bank" as a whole, and yet another word with a bank behind.
    Names of as many words each are compared so; others are cut otherwise, and say nothing.
    """
    pairs = _words_of(asked), _words_of(known)
    if len(pairs[0]) != len(pairs[1]) or len(pairs[0]) == 1:
        return True
    differing = [(a, b) for a, b in zip(*pairs, strict=True) if a != b]
    return all(_is_typo_of_word(a, b) for a, b in differing)


def _is_typo_of_word(asked: str, known: str) -> bool:
    """Say whether *asked* may be one word of a name; people know how its words begin.

    "Petit Gateau" is not Petit Bateau.
    """
    if min(len(asked), len(known)) < _WORD:
        return len(asked) >= _SHORT_WORD and typo_distance(asked, known) <= _MOST_OF_SHORT_WORD
    begins = asked[0] == known[0] or (asked[0], known[0]) in _ALIKE
    heard = _consonants(known)
    same_consonants = len(heard) >= _CONSONANTS_OF_WORD and heard == _consonants(asked)
    near = same_consonants or typo_distance(asked, known) <= _MOST_OF_WORD
    return begins and near


def _words_of(name: str) -> list[str]:
    return [key for word in name.split() if (key := name_keys(word).spelling)]


def _consonants(text: str) -> str:
    """Return the consonants of *text*, of doubled ones one."""
    kept = [char for char in text if char not in _VOWELS]
    return "".join(c for n, c in enumerate(kept) if n == 0 or kept[n - 1] != c)


def _weight(asked: str, known: str) -> float:
    """Return the least sum of weights that makes *asked* of *known*."""
    rows = [[0.0] * (len(known) + 1) for _ in range(len(asked) + 1)]
    for j in range(1, len(known) + 1):
        rows[0][j] = rows[0][j - 1] + _left_out(known, j - 1)
    for i in range(1, len(asked) + 1):
        rows[i][0] = rows[i - 1][0] + _added(asked, i - 1, known[:1])
        for j in range(1, len(known) + 1):
            best = min(
                rows[i - 1][j] + _added(asked, i - 1, known[j - 1 : j + 1]),
                rows[i][j - 1] + _left_out(known, j - 1),
                rows[i - 1][j - 1] + _instead(asked, i - 1, known[j - 1]),
            )
            if _sounds_as(asked[i - 2 : i], known[j - 1]):
                best = min(best, rows[i - 2][j - 1] + _LIKE_SOUND)
            if _sounds_as(known[j - 2 : j], asked[i - 1]):
                best = min(best, rows[i - 1][j - 2] + _LIKE_SOUND)
            for apart, weight in ((1, _SWAPPED), (2, _SWAPPED_OVER_ONE)):
                if _swapped(asked, known, i - 1, j - 1, apart):
                    best = min(best, rows[i - apart - 1][j - apart - 1] + weight)
            rows[i][j] = best
    return rows[-1][-1]


def _sounds_as(two: str, one: str) -> bool:
    return len(two) == 2 and _SOUND_OF_TWO.get(two) == one


def _swapped(asked: str, known: str, i: int, j: int, apart: int) -> bool:
    if i < apart or j < apart or asked[i] == known[j]:
        return False
    ends = asked[i] == known[j - apart] and asked[i - apart] == known[j]
    return ends and asked[i - apart + 1 : i] == known[j - apart + 1 : j]


def _left_out(known: str, at: int) -> float:
    if _is_double(known, at):
        return _DOUBLED
    if known[at] == _SILENT and 0 < at < len(known) - 1:
        return _SILENT_LETTER
    ends = _FIRST if at == 0 else _LEFT_OUT_AT_END if at == len(known) - 1 else 0.0
    return _LEFT_OUT + ends


def _added(asked: str, at: int, around: str) -> float:
    """Return the weight of one more letter, between or next to the letters *around* it."""
    if asked[at] in around and _is_double(asked, at):
        return _DOUBLED
    if asked[at] == _SILENT and 0 < at < len(asked) - 1:
        return _SILENT_LETTER
    ends = _FIRST if at == 0 else _ADDED_AT_END if at == len(asked) - 1 else 0.0
    neighbour = at > 0 and (asked[at], asked[at - 1]) in _NEIGHBOURS
    return (_NEXT_KEY if neighbour and not ends else _EXTRA) + ends


def _is_double(text: str, at: int) -> bool:
    return text[at] in (text[at - 1 : at], text[at + 1 : at + 2])


def _instead(asked: str, at: int, other: str) -> float:
    char = asked[at]
    if char == other:
        return 0.0
    first = _FIRST if at == 0 else 0.0
    if (char, other) in _ALIKE:
        return _LIKE_SOUND + first
    if char in _VOWELS and other in _VOWELS:
        return _VOWEL + first
    return (_NEXT_KEY if (char, other) in _NEIGHBOURS else _OTHER) + first
