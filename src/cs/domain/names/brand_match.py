"""Likeness of two brand names, when people write one brand in several ways.

Names are the same or they are not: there is no edit distance here, because "Delta"
and "Delta Faucet", or "Zara" and "Zora", are different companies, and a false match
is worse than a miss (contract R7).  What is forgiven, in falling order of trust:
punctuation, accents and spacing; then a leading "the" and the legal form.

The forms forgive more: what people add, leave out and spell in another way.  They find what
may be meant, and the caller must weigh it.  Two names are alike in a form if they share one
of its keys, so every form is made of both sides in one way.  Pure.
"""

import re
import tomllib
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import idna
import msgspec

from cs.domain.names.brand_names import cache_name

EXACT = 1.0
#: As above but for punctuation, accents of Latin letters, spacing, "&" for "and".
SPELLING = 0.97
#: As above but for a leading "the" and a legal form at the end.
COMPANY = 0.93
DIFFERENT = 0.0

_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("brand_words.toml").read_text(encoding="utf-8")
)


def _words_in(table: str) -> frozenset[str]:
    """Return the words and phrases of a table of `brand_words.toml`."""
    return frozenset(word.replace("_", " ") for word in _TABLES[table].split())


FIRM_WORDS, SHOP_WORDS = _words_in("firm"), _words_in("shop")
#: Legal forms as they stand at the end of a name, dots and slashes removed.
LEGAL_FORMS = _words_in("legal_forms")
_SHARED = _words_in("shared")
#: Stripped only after "&" or before another legal form: "Gap Co" may be another brand.
_COMPANY_WORDS = frozenset({"co", "company"})
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_SPELT_OUT = str.maketrans({"&": " and ", "+": " plus "})
_CONNECTORS = _words_in("connectors")
_FIRM_IN_FRONT = _words_in("firm_in_front")
_PLACES = _words_in("places")
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
#: The end of a plural, or of a possessive written together.
_PLURAL = re.compile("..[^sui]s$", re.DOTALL)
_BY_OWNER = re.compile(r"(?<=\w) by (?=\w)")
_AND = re.compile(r"\s*[&+]\s*(?=\w)")

#: Legal forms behind and in front of a name, looked for where no brand is found with them.
_FORMS_BEHIND = _words_in("legal_forms_behind")
_FORMS_IN_FRONT = _words_in("legal_forms_in_front")
#: Of East Asian scripts, which put no space between.
_ATTACHED = "|".join(map(re.escape, _TABLES["legal_forms_attached"].split()))
_BEHIND = "|".join(_TABLES["legal_forms_attached_behind"].split())
_ATTACHED_FORM = re.compile(rf"^(?:{_ATTACHED})\s*|\s*(?:{_ATTACHED}|{_BEHIND})$")
#: Of so few letters they are words of other languages, unless written as a form is.
_SHORT_FORM = 3
_LONGEST_FORM = 5  # words
_UNWRITTEN = re.compile(r"[.,;\"'«»„“”/]")


class NameKeys(msgspec.Struct, frozen=True):
    """A name at the three levels of likeness; equal keys, alike at that level.

    ``spelling`` and ``company`` are empty for a name without letters or digits, which
    is like nothing but itself.
    """

    exact: str
    spelling: str
    company: str


@lru_cache(maxsize=4096)
def name_keys(name: str) -> NameKeys:
    """Return the keys of *name*, for an index of names or for `likeness`.

    >>> name_keys("The Crème & Co. Ltd")
    NameKeys(exact='the crème & co. ltd', spelling='thecremeandcoltd', company='creme')
    """
    exact = cache_name(name)
    words = _words(exact)
    return NameKeys(exact, "".join(words), "".join(without_legal_form(words)))


def likeness(one: str, other: str) -> float:
    """Return `EXACT`, `SPELLING`, `COMPANY` or `DIFFERENT`, whichever is the closest.

    >>> likeness("Old Navy", "oldnavy"), likeness("Delta", "Delta Faucet")
    (0.97, 0.0)
    """
    a, b = name_keys(one), name_keys(other)
    if a.exact == b.exact:
        return EXACT
    if not a.spelling or not b.spelling:
        return DIFFERENT
    if a.spelling == b.spelling:
        return SPELLING
    return COMPANY if a.company == b.company else DIFFERENT


def best_likeness(asked: str, known: Iterable[str]) -> float:
    """Return the likeness of *asked* to the closest of *known*; `DIFFERENT` to none."""
    return max((likeness(asked, name) for name in known), default=DIFFERENT)


def begins_with(longer: str, shorter: str) -> bool:
    """Say whether *shorter* is the first words of *longer*: "Delta" of "Delta Faucet".

    No sign that the two are one brand; only of which brand is meant once something
    else, such as a domain, has named *longer*.
    """
    first, all_ = (without_legal_form(_words(cache_name(name))) for name in (shorter, longer))
    return bool(first) and all_[: len(first)] == first


def names_host(domain: str, name: str) -> bool:
    """Say whether the first label of *domain* is *name*: ``oldnavy.com``, ``old-navy.fr``.

    A name written as its domain ("Booking.com") names its host too.

    >>> names_host("oldnavy.com", "Old Navy"), names_host("gap.com", "Old Navy")
    (True, False)
    """
    label = _shown(domain.partition(".")[0])
    keys = name_keys(name)
    wanted = {keys.spelling, keys.company} - {""}
    return name_keys(label).spelling in wanted or name_keys(domain).spelling in wanted


def _shown(label: str) -> str:
    """Return an A-label as people read it; any other label, and a broken one, as it is."""
    if not label.startswith("xn--"):
        return label
    try:
        return idna.decode(label)
    except UnicodeError:  # idna.IDNAError is one
        return label


def _words(exact: str) -> list[str]:
    """Return *exact* as words of letters and digits; accents of Latin letters are gone."""
    return words_of(without_accents(exact).translate(_SPELT_OUT))


def words_of(text: str) -> list[str]:
    """Return the words of letters, digits and "&" in *text*; a hyphen parts two.

    Vowel signs and points (of Indic scripts, Thai and Arabic) spell without being letters.
    """
    kept = [
        c for c in text if c.isalnum() or c in " -&" or unicodedata.category(c) in {"Mn", "Mc"}
    ]
    return "".join(kept).replace("-", " ").split()


def without_accents(text: str) -> str:
    """Strip the marks from Latin letters only: "が" without its mark is another letter."""
    if text.isascii():
        return text
    letters: list[str] = []
    latin = False
    for char in unicodedata.normalize("NFD", text):
        if unicodedata.combining(char) and latin:
            continue
        latin = char.isalpha() and unicodedata.name(char, "").startswith("LATIN ")
        letters.append(char)
    return unicodedata.normalize("NFC", "".join(letters)).translate(_PLAIN_LETTERS)


def without_legal_form(words: list[str]) -> list[str]:
    """Return *words* without a leading "the" and legal forms; one word at least stays."""
    left = words[1:] if words[:1] == ["the"] and len(words) > 1 else words
    while len(left) > 1:
        if left[-1] in LEGAL_FORMS:
            left = left[:-1]
        elif left[-1] in _COMPANY_WORDS and left[-2] == "and" and len(left) > 2:
            left = left[:-2]
        elif left[-1] in _COMPANY_WORDS and words[-1] in LEGAL_FORMS:
            left = left[:-1]
        else:
            break
    return left


def is_house(name: str) -> bool:
    """Say whether *name* is a company that owns brands of other names.

    A brand that no source has, asked for at the site of one of these, is taken for one of its
    brands ("Dove" at unilever.com).  At any other site a name that is not the owner's
    contradicts the domain.

    >>> is_house("Unilever PLC"), is_house("Nike")
    (True, False)
    """
    return name_keys(name).company in _houses()


def is_shared(name: str, called: Iterable[str] = ()) -> bool:
    """Say whether *name* is a word that several brands go by, and none of them alone.

    With a legal form it is one brand's if that is among the names that brands are *called*.

    >>> is_shared("Eagle Ltd"), is_shared("American Eagle"), is_shared("Apple")
    (True, False, False)
    >>> is_shared("Merck KGaA", ["Merck KGaA"]), is_shared("Merck", ["Merck", "Merck KGaA"])
    (False, True)
    """
    keys = name_keys(name)
    if keys.company not in _SHARED:
        return False
    return keys.spelling == keys.company or all(
        name_keys(each).spelling != keys.spelling for each in called
    )


@cache
def _houses() -> frozenset[str]:
    return frozenset(name_keys(house).company for house in _words_in("houses"))


# Forms.
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
        for words in _spellings(name)
        for left in _cut(words, FIRM_WORDS)
        for key in _keys(left)
    )


@lru_cache(maxsize=4096)
def asked_forms(name: str) -> tuple[frozenset[str], ...]:
    """Return what *name* may be as `core_forms` has it: the least taken away first.

    >>> [sorted(keys) for keys in asked_forms("Kohl's Department Stores")]
    [['kohldepartmentstore'], ['kohl']]
    """
    steps: list[frozenset[str]] = []
    for text in dict.fromkeys((name, _BRACKETS.sub(" ", name))):
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
    for words in _spellings(name):
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
    every = [word for word in _spellings(name)[0] if word != "&"]
    both = every, without_legal_form(every)
    return frozenset("".join(word[0] for word in words) for words in both)


def _spellings(name: str) -> list[list[str]]:
    """Return the words of *name*: once with plain letters, once with two for an umlaut."""
    text = _POSSESSIVE.sub("", cache_name(undecorated(name)))
    plain = _words_joined(without_accents(text))
    if text.isascii():
        return [plain]
    composed = unicodedata.normalize("NFC", text)
    two = _words_joined(without_accents(composed.translate(_TWO_LETTERS)))
    return [plain] if two == plain else [plain, two]


def _words_joined(text: str) -> list[str]:
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


def _keys(words: Sequence[str]) -> set[str]:
    spelt = [_TABLES["spellings"].get(word, word) for word in words]
    stems = [word[:-1] if _PLURAL.search(word) else word for word in spelt]
    joined = "".join(stem for stem in stems if stem != "&")
    return {"".join(stems), joined if len(joined) >= _JOINED else ""} - {""}


def without_legal_forms(name: str) -> str:
    """Return *name* without legal forms of any country around it.

    >>> without_legal_forms("Miele, S. de R.L. de C.V."), without_legal_forms("ООО «Miele»")
    ('Miele', 'Miele')
    """
    left = _ATTACHED_FORM.sub("", name).strip() or name
    words = left.split()
    cuts = [words]
    while cuts:
        words = cuts[0]
        most = range(min(_LONGEST_FORM, len(words) - 1), 0, -1)
        cuts = [words[:-n] for n in most if _is_form(words[-n:], _FORMS_BEHIND)]
        cuts += [words[n:] for n in most if _is_form(words[:n], _FORMS_IN_FRONT)]
    return " ".join(words).strip(" ,.;\"'«»„“”()")


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
    words = _words_joined(cache_name(_UNWRITTEN.sub("", name)))
    every = {*LEGAL_FORMS, *_FORMS_BEHIND, "co", "company", "&", "and"}
    return bool(words) and (" ".join(words) in every or every.issuperset(words))
