"""Likeness of two brand names, when people write one brand in several ways.

Names are the same or they are not: there is no edit distance here, because "Delta"
and "Delta Faucet", or "Zara" and "Zora", are different companies, and a false match
is worse than a miss (contract R7).  What is forgiven, in falling order of trust:
punctuation, accents and spacing; then a leading "the" and the legal form.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path

import idna
import msgspec

from cs.domain.names.brand_names import cache_name

EXACT = 1.0
#: As above but for punctuation, accents of Latin letters, spacing, "&" for "and".
SPELLING = 0.97
#: As above but for a leading "the" and a legal form at the end.
COMPANY = 0.93
DIFFERENT = 0.0


class _BrandWords(msgspec.Struct):
    """`brand_words.toml`."""

    connectors: str
    firm: str
    firm_in_front: str
    shop: str
    places: str
    houses: str
    legal_forms: str
    legal_forms_behind: str
    legal_forms_in_front: str
    legal_forms_attached: str
    legal_forms_attached_behind: str
    spellings: dict[str, str]

    def of(self, table: str) -> frozenset[str]:
        """Return the words and phrases of *table*."""
        words: str = getattr(self, table)
        return frozenset(word.replace("_", " ") for word in words.split())


BRAND_WORDS = msgspec.toml.decode(
    Path(__file__).with_name("brand_words.toml").read_bytes(), type=_BrandWords
)
#: Words that come and go around a brand's name.
FIRM_WORDS, SHOP_WORDS = BRAND_WORDS.of("firm"), BRAND_WORDS.of("shop")
#: Legal forms as they stand at the end of a name, dots and slashes removed.
LEGAL_FORMS = BRAND_WORDS.of("legal_forms")
#: Stripped only after "&" or before another legal form: "Gap Co" may be another brand.
_COMPANY_WORDS = frozenset({"co", "company"})
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
)
_SPELT_OUT = str.maketrans({"&": " and ", "+": " plus "})


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


@cache
def _houses() -> frozenset[str]:
    return frozenset(name_keys(house).company for house in BRAND_WORDS.of("houses"))
