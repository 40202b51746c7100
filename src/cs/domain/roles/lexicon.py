"""The terms of `roles.toml`, the tokens of a text, and which terms stand where in it.

A term is written in lower case; ``_`` is a space and ``*`` any letters of a word.  Terms of
scripts without spaces count wherever they stand.  A term in a table of `AS_WRITTEN` is
compared with its accents, all others without.
"""

import re
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from cs.domain.names.plain_text import folded

#: Kinds whose terms are cut out of what is shown, so that "a" is not "à".
AS_WRITTEN = frozenset({"past", "gone", "now", "wish", "wanted", "leave", "at"})
#: A term of the first kind hides those of the second inside it: "employer brand".
HIDES = {
    "no_influencer": {"influencer"},
    "no_social": {"social"},
    "no_partnerships": {"partnerships"},
    "no_brand": {"brand"},
    "besides": {"other_work", "no_brand_work"},
}
_RANKS = ("intern", "coordinator", "manager", "head", "director", "vp", "c_level")
LEVELS = frozenset(_RANKS)
#: Of these, a longer term hides all shorter ones inside it: "general manager".
_LONGEST = LEVELS | {"few", "no_level"}
_HIDING = _LONGEST | HIDES.keys()
#: Terms before another one that are looked at: as many as may reach over it.
_NEIGHBOURS = 12

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0652\u0670\u0900-\u0dff"
_TOKEN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])(?:[^\W_]|[{_MARKS}]))+|[&+]")
_IS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_POINTS = re.compile("[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670]")
#: "SoMe" is what Scandinavians call social media; "some" is a word.
_SPOKEN = {"&": "and", "+": "and", "SoMe": "socialmedia"}
#: What parts the words of a term.
_PARTED = re.compile("[_'’.#-]+")
#: What no term reaches across.
_BREAK = re.compile("[,|;:]")


#: Letters of a word that a typo may be in, and of one in which any letter may be wrong.
_LONG_ENOUGH, _LONG = 4, 7


class Token(NamedTuple):
    """A word as written, without accents, and with them; and where it stands."""

    plain: str
    written: str
    start: int
    end: int


class Hit(NamedTuple):
    """A term of a text."""

    start: int
    end: int
    kind: str


def fold(text: str) -> str:
    """Return *text* without case, accents and points."""
    return _POINTS.sub("", folded(text))


def _cased(text: str) -> str:
    return unicodedata.normalize("NFC", text.casefold().replace("\u0307", ""))


def tokens(text: str) -> list[Token]:
    """Return the words of *text*; "&" and "+" are the word "and"."""
    found = []
    for hit in _TOKEN.finditer(text):
        word = _SPOKEN.get(hit[0], hit[0])
        found.append(Token(meant(fold(word)), _cased(word), *hit.span()))
    return found


#: The first word, the words after it, what follows, the kind.
_Term = tuple[str, list[str], str, str]


class _Index:
    """Terms by the two letters that they begin with, as far as they are spelt out."""

    def __init__(self) -> None:
        self._terms: dict[str, list[_Term]] = {}
        self._of = lru_cache(4_096)(self._find)

    def add(self, term: str, kind: str) -> None:
        mark = term[-1] if term[-1] in ":," else ""
        first, *rest = filter(None, _PARTED.split(term.removesuffix(mark)))
        begins = first.partition("*")[0][:2]
        self._terms.setdefault(begins, []).append((first, rest, mark, kind))

    def _find(self, word: str) -> list[_Term]:
        terms = chain(self._terms.get(word[:2], ()), self._terms.get("", ()))
        return [term for term in terms if _fits(word, term[0])]

    def knows(self, word: str) -> bool:
        return any(not rest for _, rest, _, _ in self._of(word))

    def at(self, words: list[str], n: int) -> Iterator[tuple[int, str, str]]:
        """Yield how many words the terms at word *n* have, what must follow, and the kind."""
        for _, rest, mark, kind in self._of(words[n]):
            if not rest:
                yield 1, mark, kind
                continue
            following = words[n + 1 : n + 1 + len(rest)]
            if len(following) == len(rest) and all(map(_fits, following, rest)):
                yield 1 + len(rest), mark, kind


def _fits(word: str, wanted: str) -> bool:
    stem, star, end = wanted.partition("*")
    return word == wanted if not star else word.startswith(stem) and word.endswith(end)


class _Lexicon:
    """All terms of `roles.toml`."""

    def __init__(self, tables: dict[str, dict[str, str]]) -> None:
        terms = {kind: " ".join(by.values()).split() for kind, by in tables.items()}
        self._letters = frozenset("".join(chain.from_iterable(terms.values())))
        self.typos, self.short_typos = terms.pop("typo"), terms.pop("typo_short")
        self._no_typos = {*terms.pop("no_typo"), *self.typos, *self.short_typos}
        #: Written small within names of firms.
        self.small = frozenset(terms.pop("small_in_names"))
        self.plain, self.written = _Index(), _Index()
        self.inner: dict[str, list[tuple[str, str]]] = {}
        self._words: set[str] = set()
        for kind, each in terms.items():
            for term in each:
                self._add(term, kind)

    def _add(self, term: str, kind: str) -> None:
        self._words.update(map(fold, _PARTED.split(term)))
        if _IS_UNSPACED.search(term):
            spaced = term.replace("_", " ")
            self.inner.setdefault(spaced[0], []).append((spaced, kind))
        elif kind in AS_WRITTEN:
            self.written.add(_cased(term), kind)
        else:
            self.plain.add(fold(term), kind)

    def is_no_typo(self, word: str) -> bool:
        return len(word) < _LONG_ENOUGH or word in self._no_typos or self.plain.knows(word)

    def knows(self, word: str) -> bool:
        """Say whether *word* is in any term."""
        return word in self._words or self.plain.knows(word)

    @cached_property
    def _scripts(self) -> frozenset[str]:
        return frozenset(map(_script, filter(str.isalpha, self._letters)))

    def is_of_known_script(self, letter: str) -> bool:
        """Say whether any term is written with letters such as *letter*."""
        return _script(letter) in self._scripts


def _script(letter: str) -> str:
    """Return the script of *letter*: the first word of its name in Unicode, "CYRILLIC"."""
    return unicodedata.name(letter, "").partition(" ")[0]


@cache
def lexicon() -> _Lexicon:
    """Return the terms of `roles.toml`, read once."""
    text = files(__package__).joinpath("roles.toml").read_text(encoding="utf-8")
    return _Lexicon(tomllib.loads(text))


@lru_cache(1_024)
def meant(word: str) -> str:
    """Return *word*, or the common word that it is with one typo.

    Of short words a typo is two letters swapped, or one written twice.

    >>> meant("mananger"), meant("soical"), meant("brandi")
    ('manager', 'social', 'brandi')
    """
    words = lexicon()
    if words.is_no_typo(word):
        return word
    from rapidfuzz.distance import OSA  # noqa: PLC0415  # 40 ms, for words in no table

    for each in (*words.short_typos, *words.typos):
        may_be = len(each) >= _LONG or set(word) == set(each)
        if may_be and word[0] == each[0] and OSA.distance(word, each, score_cutoff=1) == 1:
            return each
    return word


def hits_in(text: str, words: list[Token]) -> list[Hit]:
    """Return the terms of *text*, without those that others hide."""
    found = sorted({*_spaced_hits(text, words), *_inner_hits(text)})
    hiding = [hit for hit in found if hit.kind in _HIDING]
    return [hit for hit in found if not _is_hidden(hit, hiding)]


def _spaced_hits(text: str, words: list[Token]) -> Iterator[Hit]:
    index = lexicon()
    for terms, each in (
        (index.plain, [word.plain for word in words]),
        (index.written, [word.written for word in words]),
    ):
        for n, word in enumerate(words):
            for count, mark, kind in terms.at(each, n):
                end = words[n + count - 1].end
                if text.startswith(mark, end) and not _BREAK.search(text, word.start, end):
                    yield Hit(word.start, end, kind)


def _inner_hits(text: str) -> Iterator[Hit]:
    if text.isascii():
        return
    terms, cased = lexicon().inner, text.casefold()
    if len(cased) != len(text):
        cased = text
    for n, letter in enumerate(cased):
        for term, kind in terms.get(letter, ()):
            if cased.startswith(term, n):
                yield Hit(n, n + len(term), kind)


def _is_hidden(hit: Hit, hiding: list[Hit]) -> bool:
    """Say whether *hit* is within one of *hiding*, sorted, that hides its kind."""
    n = bisect_right(hiding, (hit.start + 1,))
    for other in reversed(hiding[max(0, n - _NEIGHBOURS) : n]):
        if other.end < hit.end or other.start > hit.start or other == hit:
            continue
        if hit.kind in HIDES.get(other.kind, ()):
            return True
        longer = other.end - other.start > hit.end - hit.start
        if longer and hit.kind in _LONGEST and other.kind in _LONGEST:
            return True
    return False


def covered(hits: Iterable[Hit], kinds: frozenset[str]) -> set[int]:
    """Return the places of all characters that are in terms of *kinds*."""
    return {n for hit in hits if hit.kind in kinds for n in range(hit.start, hit.end)}
