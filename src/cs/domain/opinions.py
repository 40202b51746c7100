"""Effect of an opinion on the reading of a headline.  Pure.

A rule that is clear is never overruled: an opinion counts in the parts that a doubt leaves
open (`cs.domain.roles.doubt.OPEN`), and only if it agrees with all others.
"""

import re
from collections.abc import Collection, Sequence
from itertools import product
from unicodedata import normalize
from urllib.parse import unquote

from cs.domain.contact import Opinion, Person
from cs.domain.names.other_scripts import transliterations
from cs.domain.names.person_name import ascii_forms
from cs.domain.names.plain_text import folded
from cs.domain.roles.doubt import OPEN, Doubt
from cs.domain.roles.labels import Family, Level
from cs.domain.roles.role import JobRole, role_of

#: Version of the question: raised by hand when its words change (`cs.opinions`).
PROMPT = "headline-opinion-2"

#: Name of the opinions' source in accounts, causes and figures.
SOURCE = "opinion"

#: Replaces words that identify the person.
HIDDEN = "[...]"
_LINKS = re.compile(
    r"(?:https?://|www\.)\S+|[\w.-]*(?:linkedin|instagram|tiktok|twitter|facebook)\.com/\S+"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\+?\d[\d ()./-]{7,}\d",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+")
#: Letters of scripts without blanks between words, or that put endings to names.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
#: Letters that sound alike, or that some scripts write with one letter.
_ALIKE = str.maketrans(
    {"g": "k", "q": "k", "d": "t", "b": "p", "r": "l", "w": "v", "z": "s", "x": "ks", "h": ""}
)
#: Spellings that languages pronounce in different ways.
_PRONOUNCED = (("ch", ("s", "k", "")), ("c", ("k", "s")), ("j", ("s", "y")))


def settled(
    role: JobRole, doubts: Collection[Doubt], opinion: Opinion, headline: str
) -> JobRole:
    """Return *role*, read of *headline* by the rules, with what *opinion* says of the rest.

    Without a doubt, and where the opinion contradicts what is clear, that is *role* itself.
    Title and company count only as they stand in *headline*.

    >>> from cs.domain.roles.role import classify
    >>> headline = "Markenmanger at Acme"
    >>> role = classify(headline)
    >>> said = Opinion(person="p1", family="brand", level="manager")
    >>> settled(role, {Doubt.NO_LEVEL}, said, headline).eligible
    True
    >>> settled(role, (), said, headline).eligible
    False
    """
    is_open = frozenset(part for doubt in doubts for part in OPEN[doubt])
    try:
        family, level = Family(opinion.family), Level(opinion.level)
    except ValueError:  # of a stage that has other words
        return role
    contradicts = (family != role.family and "family" not in is_open) or (
        level != role.level and "level" not in is_open
    )
    if not is_open or contradicts:
        return role
    title, company = role.title, role.company
    if "level" in is_open or "family" in is_open:
        title = _quoted(opinion.title, headline) or title
    if "company" in is_open:
        company = _quoted(opinion.company, headline) or company
    found = role_of(family, level, title=title, company=company)
    return role if found.eligible and not found.title else found


def _quoted(said: str | None, headline: str) -> str | None:
    return said if said and HIDDEN not in said and said in headline else None


def nameless(headline: str, person: Person) -> str:
    """Return *headline* without what says whose it is: names, addresses, numbers to call.

    Names are also found in other spellings and scripts; a name in a script that cannot be
    transliterated, as the address of the profile spells it.

    >>> jo = Person(person="p1", full_name="Jo Lane")
    >>> nameless("Jo Lane | Brand Lead, jo@acme.example", jo)
    '[...] | Brand Lead, [...]'
    """
    text = _LINKS.sub(HIDDEN, normalize("NFC", headline))
    first, last = person.first_name or "", person.last_name or ""
    names = [normalize("NFC", each) for each in (person.full_name, first, last)]
    for name in dict.fromkeys([*names, f"{names[1]} {names[2]}"]):
        words = _WORD.findall(name)
        for each in (words, words[::-1]) if len("".join(words)) > 1 else ():
            text = _together(each).sub(HIDDEN, text)
    pieces = {piece for name in names for piece in _WORD.findall(folded(name))}
    pieces |= _spelt_in_address(person) if not any(map(ascii_forms, pieces)) else set()
    full = _WORD.findall(names[0])
    spelt = {word for name in names for word in _WORD.findall(name) if len(word) > 1}
    spelt |= {"".join(full), "".join(full[::-1])}  # scripts without blanks between
    latin = {form for each in spelt for form in ascii_forms(each)}
    sounds: dict[bool, set[str]] = {True: set(), False: set()}  # by whether in Latin letters
    for each in spelt:
        sounds[bool(ascii_forms(each))] |= _sounds(each)

    def named(word: str) -> bool:
        forms = ascii_forms(word)
        is_spelt = folded(word) in pieces or not latin.isdisjoint(forms)
        return is_spelt or not sounds[not forms].isdisjoint(_sounds(word))

    return _WORD.sub(
        lambda word: HIDDEN if len(word[0]) > 1 and named(word[0]) else word[0], text
    )


def _sounds(word: str) -> set[str]:
    """Return how *word* may sound, roughly: a name that stays is worse than a word that goes.

    Only consonants count where there are two or more.  Empty for a script that cannot be
    transliterated.
    """
    found = set[str]()
    forms = ascii_forms(word) or transliterations(word.casefold())
    for form, *said in product(forms, *(ways for _, ways in _PRONOUNCED)):
        text = form.replace("ph", "f").replace("kh", "h")
        for (spelt, _), way in zip(_PRONOUNCED, said, strict=True):
            text = text.replace(spelt, way)
        text = re.sub(r"t(?=s)|(.)(?=\1)", "", text.translate(_ALIKE))
        consonants = re.sub("[aeiouy]", "", text)
        found.add(consonants if len(consonants) > 1 else re.sub("[iy]", "", text) or text)
    return found


def _spelt_in_address(person: Person) -> set[str]:
    """Return the words of the address of *person*'s profile."""
    page = unquote(person.linkedin_url or "").rstrip("/").rpartition("/in/")[2]
    return {word for word in _WORD.findall(folded(page)) if word.isalpha() and len(word) > 1}


def _together(words: Sequence[str]) -> re.Pattern[str]:
    """Return what finds *words* one after the other, also without a blank: "janelane"."""
    joined = r"[\W_]*".join(map(re.escape, words))
    if not _UNSPACED.search(joined):
        joined = rf"(?<![^\W_]){joined}(?![^\W_])"
    return re.compile(joined, re.IGNORECASE)
