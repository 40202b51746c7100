"""Weighted distance between a word and another that it may be a typo of.

A typing or hearing error is one of few kinds: a letter doubled, left out, swapped with its
neighbour, a vowel or a letter that sounds alike in place of another, the next key.  Names
of two brands differ in other ways: "Lara" is not "Zara", "Dysona" is no Dyson.  So a difference
has a weight by what it is, not by the number of letters alone.  Pure.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations, product

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


_ALIKE = frozenset(pair for group in _SOUNDS for pair in permutations(group, 2))
#: Keys by their places, in widths of a key; each row is half a key further to the right.
_KEYS = {
    key: complex(n + row / 2, row)
    for row, keys in enumerate(_ROWS)
    for n, key in enumerate(keys)
}
_NEIGHBOURS = frozenset(
    pair for pair in permutations(_KEYS, 2) if abs(_KEYS[pair[0]] - _KEYS[pair[1]]) < 1.2
)


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
    least = {(0, 0): 0.0}
    for i, j in list(product(range(len(asked) + 1), range(len(known) + 1)))[1:]:
        least[i, j] = min(least[i - a, j - k] + w for a, k, w in _errors(asked, known, i, j))
    return least[len(asked), len(known)]


def _errors(asked: str, known: str, i: int, j: int) -> Iterator[tuple[int, int, float]]:
    """Yield the errors that end at letter *i* of *asked* and at letter *j* of *known*.

    Each is the number of letters of *asked* and of *known* in it, and its weight.
    """
    if i:
        at = i - 1
        is_slip = 0 < at < len(asked) - 1 and (asked[at], asked[at - 1]) in _NEIGHBOURS
        weight = _NEXT_KEY if is_slip else _EXTRA
        around = known[max(j - 1, 0) : j + 1]
        yield 1, 0, _one_more(asked, at, around, weight, _ADDED_AT_END)
    if j:
        yield 0, 1, _one_more(known, j - 1, known, _LEFT_OUT, _LEFT_OUT_AT_END)
    if i and j:
        yield 1, 1, _instead(asked[i - 1], known[j - 1], _FIRST if i == 1 else 0.0)
        if _SOUND_OF_TWO.get(asked[i - 2 : i]) == known[j - 1]:
            yield 2, 1, _LIKE_SOUND
        if _SOUND_OF_TWO.get(known[j - 2 : j]) == asked[i - 1]:
            yield 1, 2, _LIKE_SOUND
    for count, weight in ((2, _SWAPPED), (3, _SWAPPED_OVER_ONE)):
        if min(i, j) >= count:
            ours, theirs = asked[i - count : i], known[j - count : j]
            if ours != theirs and ours == theirs[-1] + theirs[1:-1] + theirs[0]:
                yield count, count, weight


def _one_more(text: str, at: int, around: str, weight: float, at_end: float) -> float:
    """Return the weight of a letter that only *text* has, *around* it those of the other."""
    letter = text[at]
    if letter in around and letter in (text[at - 1 : at], text[at + 1 : at + 2]):
        return _DOUBLED
    if letter == _SILENT and 0 < at < len(text) - 1:
        return _SILENT_LETTER
    return weight + (_FIRST if at == 0 else at_end if at == len(text) - 1 else 0.0)


def _instead(char: str, other: str, first: float) -> float:
    if char == other:
        return 0.0
    if (char, other) in _ALIKE:
        return _LIKE_SOUND + first
    if char in _VOWELS and other in _VOWELS:
        return _VOWEL + first
    return (_NEXT_KEY if (char, other) in _NEIGHBOURS else _OTHER) + first
