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
    BRAND_WORDS,
    FIRM_WORDS,
    LEGAL_FORMS,
    SHOP_WORDS,
    name_keys,
    without_accents,
    without_legal_form,
    words_of,
)
from cs.domain.names.brand_names import cache_name

_CONNECTORS = BRAND_WORDS.of("connectors")
_FIRM_IN_FRONT = BRAND_WORDS.of("firm_in_front")
_PLACES = BRAND_WORDS.of("places")
#: Letters that people without the key write as two.
_TWO_LETTERS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
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

#: Legal forms behind and in front of a name, looked for where no brand is found with them.
_FORMS_BEHIND = BRAND_WORDS.of("legal_forms_behind")
_FORMS_IN_FRONT = BRAND_WORDS.of("legal_forms_in_front")
#: Of East Asian scripts, which put no space between.
_ATTACHED = "|".join(map(re.escape, BRAND_WORDS.legal_forms_attached.split()))
_BEHIND = "|".join(BRAND_WORDS.legal_forms_attached_behind.split())
_ATTACHED_FORM = re.compile(rf"^(?:{_ATTACHED})\s*|\s*(?:{_ATTACHED}|{_BEHIND})$")
#: Of so few letters they are words of other languages, unless written as a form is.
_SHORT_FORM = 3
_LONGEST_FORM = 5  # words
_UNWRITTEN = re.compile(r"[.,;\"'«»„“”/]")


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
    spelt = {plain, unicodedata.normalize("NFC", plain.casefold()).translate(_TWO_LETTERS)}
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
        while len(left) > 1 and left[-1] in _PLACES:
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
    two = _words(without_accents(composed.translate(_TWO_LETTERS)))
    return [plain] if two == plain else [plain, two]


def _words(text: str) -> list[str]:
    """Return the words of *text*; what joins two of them is the word "&"."""
    words = words_of(_AND.sub(" & ", text).replace("+", " plus "))
    inner = range(1, len(words) - 1)
    return ["&" if n in inner and w in _CONNECTORS else w for n, w in enumerate(words)]


def _cut(words: Sequence[str], ends: Collection[str]) -> list[list[str]]:
    """Return *words* without legal forms, then with ever less of *ends* around them."""
    left = _without_legal_form(words)
    steps = [left]
    while len(left) > 1:
        if len(left) > 2 and " ".join(left[-2:]) in ends:
            left = left[:-2]
        elif left[-1] in ends or left[-1] == "&":
            left = left[:-1]
        elif left[0] in _FIRM_IN_FRONT:
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
    stems = [_stem(BRAND_WORDS.spellings.get(word, word)) for word in words]
    joined = "".join(stem for stem in stems if stem != "&")
    keys = {"".join(stems)}
    if len(joined) >= _JOINED:
        keys.add(joined)
    return keys - {""}


def without_legal_forms(name: str) -> str:
    """Return *name* without legal forms of any country around it.

    >>> without_legal_forms("Miele, S. de R.L. de C.V."), without_legal_forms("ООО «Miele»")
    ('Miele', 'Miele')
    """
    left = _ATTACHED_FORM.sub("", name).strip() or name
    words = left.split()
    while len(words) > 1:
        behind = next((n for n in _lengths(words) if _is_form(words[-n:], _FORMS_BEHIND)), 0)
        before = next((n for n in _lengths(words) if _is_form(words[:n], _FORMS_IN_FRONT)), 0)
        if behind:
            words = words[:-behind]
        elif before:
            words = words[before:]
        else:
            break
    return " ".join(words).strip(" ,.;\"'«»„“”()")


def _lengths(words: list[str]) -> range:
    return range(min(_LONGEST_FORM, len(words) - 1), 0, -1)


def _is_form(words: list[str], forms: frozenset[str]) -> bool:
    written = " ".join(words)
    plain = without_accents(cache_name(_UNWRITTEN.sub("", written))).strip("() ")
    form = re.sub(r"[()\s]+", " ", plain)
    if len(form) <= _SHORT_FORM and written.islower() and "." not in written:
        return False
    return form in forms


def is_legal_form(name: str) -> bool:
    """Say whether *name* is legal forms and nothing else.

    >>> is_legal_form("GmbH & Co. KG"), is_legal_form("S.A."), is_legal_form("Co-op")
    (True, True, False)
    """
    words = _words(cache_name(_UNWRITTEN.sub("", name)))
    every = {*LEGAL_FORMS, *_FORMS_BEHIND, "co", "company", "&", "and"}
    return bool(words) and (" ".join(words) in every or every.issuperset(words))
