"""Names of people: what is the name in what they wrote, and how mailboxes spell it."""

import re
import tomllib
import unicodedata
from pathlib import Path
from typing import Any

from cs.domain.names.plain_text import BREAK, folded, plain

_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("person_words.toml").read_text(encoding="utf-8")
)
_SPELLINGS = {letter: spelt.split() for letter, spelt in _TABLES.pop("spellings").items()}
_WORDS = {table: frozenset(words.split()) for table, words in _TABLES.items()}
_BRACKETS = re.compile(
    r"[(\[{「（][^()\[\]{}「」（）]*[)\]}」）]|[\"“”«»„][^\"“”«»„]*[\"“”«»„]"
)
_PRONOUNS = re.compile(
    r"(?<!\w)(?:she|he|they|sie|er|ella|él|elle|il)\s?/\s?\w+(?:\s?/\s?\w+)?", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f'’ʼ`.\-‐‑·])*", re.UNICODE)
_HANGUL = re.compile(r"[\uac00-\ud7a3]{2,4}")
_HAN = re.compile(r"[\u3400-\u9fff々]{2,5}")
_KANA = re.compile("[\u3040-\u30ff]")
_LOCAL = re.compile(r"[a-z]+(?:-[a-z]+)*")
_APOSTROPHE = str.maketrans("", "", "'’ʼ`´‘.·")
_DASHES = str.maketrans("‐‑–—", "----")


def shown_name(full_name: str) -> str | None:
    """Return the name in *full_name* without titles, degrees and ornament, or None.

    >>> shown_name("Dr. Jane Doe, MBA (she/her) 🚀")
    'Jane Doe'
    """
    words = _words(full_name)
    return " ".join(words) if words else None


def split_name(full_name: str) -> tuple[str | None, str | None]:
    """Return first and last name of *full_name*; ``(None, None)`` if it is not usable.

    The first name is the first word; the last name is the last word with its
    particles, "van der Berg".  An initial of the family name, "Jane D.", is no last
    name.  The family name is taken to come first only where the script says so: Han
    and Hangul names written without spaces, and "DOE Jane" with just one part in
    capitals.

    >>> split_name("Anna van der Berg")
    ('Anna', 'van der Berg')
    """
    words = _words(full_name)
    if len(words) == 1:
        return _split_unspaced(words[0])
    if len(words) < 2:
        return None, None
    if len(words) == 2 and all(_HAN.fullmatch(w) or _HANGUL.fullmatch(w) for w in words):
        return words[1], words[0]
    words = _family_last(words)
    if words[0] in _WORDS["particles"]:  # in small letters: the first name is missing
        return None, None
    first, start = words[0], len(words) - 1
    if start > 2 and words[start - 1] in _WORDS["between_families"]:
        start -= 2
    elif start > 1:
        name = folded(words[start - 1])
        is_first = name in _WORDS["first_of_two"] or (len(name) > 4 and name.endswith("ez"))
        start -= is_first
    while start > 1 and words[start - 1].casefold() in _WORDS["particles"]:
        start -= 1
    last = " ".join(words[start:])
    return first, last if len(_bare(last)) > 1 else None


def ascii_forms(name: str) -> tuple[str, ...]:
    """Return the spellings of *name* that local parts use, likeliest first.

    Lower-case ASCII letters and hyphens: an umlaut gives two spellings, an apostrophe
    and a space are dropped, a hyphen gives one spelling with it and one without.  ``()`` for
    a name in a script that has no one Latin spelling.

    >>> ascii_forms("Müller-Lüdenscheidt")[0]
    'mueller-luedenscheidt'
    """
    text = plain(name).casefold().translate(_DASHES).translate(_APOSTROPHE)
    text = re.sub(r"\s*-\s*", "-", text).strip("- ").replace(" ", "")
    spelt = [form for form in (_spelt(text, 0), _spelt(text, -1)) if _LOCAL.fullmatch(form)]
    return tuple(dict.fromkeys([*spelt, *(form.replace("-", "") for form in spelt)]))


def _spelt(text: str, choice: int) -> str:
    letters = (
        _SPELLINGS[letter][choice]
        if letter in _SPELLINGS
        else unicodedata.normalize("NFKD", letter)
        for letter in unicodedata.normalize("NFC", text)
    )
    return "".join(part for part in "".join(letters) if not unicodedata.combining(part))


def _words(full_name: str) -> list[str]:
    """Return the words of the name, or none if *full_name* does not read as one."""
    text = _PRONOUNS.sub(" ", _BRACKETS.sub(" ", plain(full_name)))
    text = text.translate(_DASHES)
    text = re.split(r"\s[-|/]\s|[|;]|•", text.replace(BREAK.strip(), "•").strip(" •"))[0]
    before, comma, after = text.partition(",")
    # "Doe, Jane"
    few = 0 < len(before.split()) <= 3 and 0 < len(after.split()) <= 2 and "," not in after
    text = f"{after} {before}" if comma and few and not _is_degree(after) else before
    words = [word.strip(",").rstrip("-") for word in text.split()]
    while words and _bare(words[0]) in _WORDS["titles"] and len(words) > 1:
        words.pop(0)
    while len(words) > 1 and _is_spelt_degree(words):
        words.pop()
    words = [word for word in words if word.strip(".-") and word != "&"]
    if not words or len(words) > 7 or not all(map(_WORD.fullmatch, words)):
        return []
    return words


def _is_degree(text: str) -> bool:
    words = text.split()
    return bool(words) and all(w.casefold().strip(".,®") in _WORDS["degrees"] for w in words)


def _is_spelt_degree(words: list[str]) -> bool:
    """Say whether the last word is a degree and not a name like one: "Jack Ma", "JACK MA"."""
    last = words[-1]
    capitals = sum(map(str.isupper, last))
    if not _is_degree(last) or (capitals < 2 and "." not in last and last.casefold() != "jr"):
        return False
    return not (len(words) == 2 and len(last) == 2 and words[0].isupper())


def _bare(word: str) -> str:
    return word.casefold().strip(".,")


def _family_last(words: list[str]) -> list[str]:
    """Turn "DOE Jane" around: just one end in capitals, and more than initials."""
    first, last = words[0], words[-1]
    if len(first) > 2 and first.isupper() and "." not in first and not last.isupper():
        count = next((n for n, word in enumerate(words) if not word.isupper()), 1)
        if (
            all(word.istitle() or not word.isupper() for word in words[count:])
            and last.isalpha()
        ):
            return [*words[count:], *words[:count]]
    return words


def _split_unspaced(word: str) -> tuple[str | None, str | None]:
    if _HANGUL.fullmatch(word):
        pairs = _WORDS["korean"]
    elif _HAN.fullmatch(word) and len(word) <= 4 and not _KANA.search(word):
        pairs = _WORDS["chinese"]
        if len(word) == 4 and word[:2] not in pairs:
            return None, None  # Japanese, most likely: two and two, or not
    else:
        return None, None
    cut = 2 if word[:2] in pairs and len(word) > 2 else 1
    return word[cut:], word[:cut]
