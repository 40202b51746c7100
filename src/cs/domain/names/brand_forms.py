"""The looser forms of a brand's name: what people add, leave out and spell in another way.

`brand_match` says when two names are one spelling of one name.  The forms here forgive more:
they are for finding what may be meant, and who finds must weigh it.  Two names are alike
in a form if they share one of its keys, so every form is made of both sides in one way.
Pure.
"""

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

from cs.domain.names.brand_match import (
    is_mark,
    name_keys,
    without_accents,
    without_legal_form,
)
from cs.domain.names.brand_names import cache_name
from cs.domain.names.brand_words import (
    CONNECTORS,
    FIRM_WORDS,
    LEADING_FIRM_WORDS,
    OTHER_SPELLINGS,
    PLACES,
    SHOP_WORDS,
    TWO_LETTERS,
)

#: Without its connector a name has to be this long: "HM" is not "H&M", "pullbear" is.
_JOINED = 6

_SIGNS = re.compile(r"[™®©℠]|\((?:r|tm|c)\)", re.IGNORECASE)
#: What stands before a name in a list or a form: "3. Acme", "Brand: Acme".
_LIST_MARK = re.compile(
    r"^(?:#?\d{1,4}[.)]\s+|(?:brand|company|client|customer|name|firma|kunde|marke|marque|marca"
    r"|cliente|empresa|merk)\s*:\s*)+(?=\S)",
    re.IGNORECASE,
)
_APOSTROPHES = str.maketrans("´`’‘ʼ′＇", "'''''''")
_POSSESSIVE = re.compile(r"(?<=\w)'s?(?!\w)")
_BRACKETS = re.compile(r"[(\[（【][^()\[\]（）【】]*[)\]）】]")
_BY_OWNER = re.compile(r"(?<=\w) by (?=\w)")
_AND = re.compile(r"\s*[&+]\s*(?=\w)")


def undecorated(name: str) -> str:
    """Return *name* without signs of registration, its apostrophes straight.

    >>> undecorated("Wendy´s™ (R)")
    "Wendy's"
    """
    return " ".join(_SIGNS.sub(" ", name.translate(_APOSTROPHES)).split()) or name


def without_list_mark(name: str) -> str:
    """Return *name* without what a list or a form has in front of it.

    >>> without_list_mark("1. Pep Boys"), without_list_mark("Brand: Zara Home")
    ('Pep Boys', 'Zara Home')
    """
    return _LIST_MARK.sub("", name)


@lru_cache(maxsize=4096)
def close_forms(name: str) -> frozenset[str]:
    """Return the keys of *name* as it is, umlauts as one letter and as two.

    >>> sorted(close_forms("Flügger A/S"))
    ['fluegger', 'flueggeras', 'flugger', 'fluggeras']
    """
    plain = undecorated(name)
    spelt = {plain, unicodedata.normalize("NFC", plain.casefold()).translate(TWO_LETTERS)}
    keys = [name_keys(each) for each in spelt]
    return frozenset(key for each in keys for key in (each.spelling, each.company)) - {""}


@lru_cache(maxsize=4096)
def core_forms(name: str) -> frozenset[str]:
    """Return the keys of a known *name* without plurals, connectors, words for the firm.

    >>> sorted(core_forms("Kohl's Holdings, Inc."))
    ['kohl', 'kohlholding']
    >>> core_forms("Barnes n Noble") == core_forms("Barnes & Noble")
    True
    """
    return frozenset(
        key
        for words in _spellings(_folded(name))
        for left in _cut(words, FIRM_WORDS)
        for key in _keys(left)
    )


@lru_cache(maxsize=4096)
def asked_forms(name: str) -> tuple[frozenset[str], ...]:
    """Return what *name* may be as `core_forms` has it: the least taken away first.

    >>> [sorted(keys) for keys in asked_forms("Kohl's Department Stores")]
    [['kohldepartmentstore'], ['kohl']]
    """
    folded = _folded(name)
    bare = _BRACKETS.sub(" ", folded)
    steps: list[frozenset[str]] = []
    for text in dict.fromkeys((folded, bare if bare.strip() else folded)):
        cuts = [_cut(words, FIRM_WORDS | SHOP_WORDS) for words in _spellings(text)]
        for level in range(max(map(len, cuts))):
            keys = (_keys(cut[level]) for cut in cuts if level < len(cut))
            steps.append(frozenset().union(*keys))
    return tuple(step for step in dict.fromkeys(steps) if step)


@lru_cache(maxsize=4096)
def branch_forms(name: str) -> frozenset[str]:
    """Return the keys of *name* without the country or city at its end; none if there is none.

    >>> sorted(branch_forms("TK Maxx UK")), sorted(branch_forms("TK Maxx"))
    (['tkmaxx'], [])
    """
    found = set[str]()
    for words in _spellings(_folded(name)):
        whole = left = _cut(words, FIRM_WORDS | SHOP_WORDS)[-1]
        while len(left) > 1 and left[-1] in PLACES:
            left = _cut(left[:-1], FIRM_WORDS | SHOP_WORDS)[-1]
        if left != whole:
            found.update(_keys(left))
    return frozenset(found)


def before_owner(name: str) -> tuple[str, str] | None:
    """Return brand and owner of a name that says both: "Home2 Suites by Hilton"."""
    parts = _BY_OWNER.split(undecorated(name))
    return (parts[0], parts[1]) if len(parts) == 2 else None


def initials(name: str) -> frozenset[str]:
    """Return the first letters of the words of *name*, connectors left out.

    >>> sorted(initials("Half Price Books, Inc.")), sorted(initials("The Good Burger"))
    (['hpb', 'hpbi'], ['gb', 'tgb'])
    """
    (words, *_) = _spellings(_folded(name))
    every = [word for word in words if word != "&"]
    both = every, without_legal_form(every)
    return frozenset("".join(word[0] for word in words) for words in both)


def _folded(name: str) -> str:
    return cache_name(undecorated(name))


def _spellings(folded: str) -> list[list[str]]:
    """Return the words of *folded*: once with plain letters, once with two for an umlaut."""
    text = _POSSESSIVE.sub("", folded)
    plain = _words(without_accents(text))
    if text.isascii():
        return [plain]
    composed = unicodedata.normalize("NFC", text)
    two = _words(without_accents(composed.translate(TWO_LETTERS)))
    return [plain] if two == plain else [plain, two]


def _words(text: str) -> list[str]:
    """Return the words of *text*; what joins two of them is the word "&"."""
    spelt = _AND.sub(" & ", text).replace("+", " plus ")
    kept = "".join(c for c in spelt if c.isalnum() or c in " -&" or is_mark(c))
    words = kept.replace("-", " ").split()
    inner = range(1, len(words) - 1)
    return ["&" if n in inner and w in CONNECTORS else w for n, w in enumerate(words)]


def _cut(words: Sequence[str], ends: Collection[str]) -> list[list[str]]:
    """Return *words* without legal forms, then with ever less of *ends* around them."""
    left = _without_legal_form(words)
    steps = [left]
    while len(left) > 1:
        if len(left) > 2 and " ".join(left[-2:]) in ends:
            left = left[:-2]
        elif left[-1] in ends or left[-1] == "&":
            left = left[:-1]
        elif left[0] in LEADING_FIRM_WORDS:
            left = left[1:]
        else:
            break
        left = _without_legal_form(left)
        steps.append(left)
    return steps


def _without_legal_form(words: Sequence[str]) -> list[str]:
    left = without_legal_form(["and" if word == "&" else word for word in words])
    return [("&" if word == "and" else word) for word in left]


def _stem(word: str) -> str:
    """Return *word* without the "s" of a plural or of a possessive written together."""
    plural = len(word) > 3 and word.endswith("s") and word[-2] not in "sui"
    return word[:-1] if plural else word


def _keys(words: Sequence[str]) -> set[str]:
    stems = [_stem(OTHER_SPELLINGS.get(word, word)) for word in words]
    joined = "".join(stem for stem in stems if stem != "&")
    keys = {"".join(stems)}
    if len(joined) >= _JOINED:
        keys.add(joined)
    return keys - {""}
