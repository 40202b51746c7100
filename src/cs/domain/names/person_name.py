"""Names of people: what is the name in what they wrote, and how mailboxes spell it."""

import re
import unicodedata
from pathlib import Path

import msgspec

from cs.domain.names.plain_text import BREAK, folded, plain


class _PersonWords(msgspec.Struct, frozen=True):
    """`person_words.toml`."""

    titles: str
    degrees: str
    particles: str
    between_families: str
    first_of_two: str
    korean: str
    chinese: str
    spellings: dict[str, str]


_WORDS = msgspec.toml.decode(
    Path(__file__).with_name("person_words.toml").read_bytes(), type=_PersonWords
)
_TITLES, _DEGREES = frozenset(_WORDS.titles.split()), frozenset(_WORDS.degrees.split())
_PARTICLES, _AND = frozenset(_WORDS.particles.split()), _WORDS.between_families.split()
_FIRST_OF_TWO = frozenset(_WORDS.first_of_two.split())
_SPELLINGS = {letter: spelt.split() for letter, spelt in _WORDS.spellings.items()}
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
    if words[0] in _PARTICLES:  # in small letters: the first name is missing
        return None, None
    first, start = words[0], len(words) - 1
    if start > 2 and words[start - 1] in _AND:
        start -= 2
    elif start > 1 and _is_first_of_two(words[start - 1]):
        start -= 1
    while start > 1 and words[start - 1].casefold() in _PARTICLES:
        start -= 1
    last = " ".join(words[start:])
    if len(_bare(last)) < 2:
        return first, None
    return first, last


def ascii_forms(name: str) -> tuple[str, ...]:
    """Return the spellings of *name* that local parts use, likeliest first.

    Lower-case ASCII letters and hyphens: an umlaut gives two spellings, an apostrophe
    and a space are dropped, a hyphen gives one spelling with it and one without.  ``()`` for
    a name in a script that has no one Latin spelling.

    >>> ascii_forms("Müller-Lüdenscheidt")[0]
    'mueller-luedenscheidt'
    """
    text = plain(name).casefold() if "ß" not in name else plain(name).lower()
    text = text.translate(_DASHES).translate(_APOSTROPHE)
    text = re.sub(r"\s*-\s*", "-", text).strip("- ").replace(" ", "")
    forms = [_spelt(text, 0), _spelt(text, 1)]
    spelt = [form for form in forms if form is not None]
    return tuple(dict.fromkeys([*spelt, *(form.replace("-", "") for form in spelt)]))


def _spelt(text: str, choice: int) -> str | None:
    letters = []
    for letter in unicodedata.normalize("NFC", text):
        if letter in _SPELLINGS:
            letters.append(_SPELLINGS[letter][: choice + 1][-1])
        else:
            letters.extend(
                part
                for part in unicodedata.normalize("NFKD", letter)
                if not unicodedata.combining(part)
            )
    spelt = "".join(letters)
    return spelt if re.fullmatch(r"[a-z]+(?:-[a-z]+)*", spelt) else None


def _words(full_name: str) -> list[str]:
    """Return the words of the name, or none if *full_name* does not read as one."""
    text = _PRONOUNS.sub(" ", _BRACKETS.sub(" ", plain(full_name)))
    text = text.translate(_DASHES)
    text = re.split(r"\s[-|/]\s|[|;]|•", text.replace(BREAK.strip(), "•").strip(" •"))[0]
    before, comma, after = text.partition(",")
    if comma and not _is_degree(after.split(",")[0]):
        text = f"{after} {before}" if _is_reversed(before, after) else before
    else:
        text = before
    words = [word.strip(",").rstrip("-") for word in text.split()]
    while words and _bare(words[0]) in _TITLES and len(words) > 1:
        words.pop(0)
    while len(words) > 1 and _is_spelt_degree(words):
        words.pop()
    words = [word for word in words if word.strip(".-") and word != "&"]
    if not words or len(words) > 7 or not all(map(_WORD.fullmatch, words)):
        return []
    return words


def _is_degree(text: str) -> bool:
    words = text.split()
    return bool(words) and all(w.casefold().strip(".,®") in _DEGREES for w in words)


def _is_spelt_degree(words: list[str]) -> bool:
    """Say whether the last word is a degree and not a name like one: "Jack Ma", "JACK MA"."""
    last = words[-1]
    capitals = sum(map(str.isupper, last))
    if not _is_degree(last) or (capitals < 2 and "." not in last and last.casefold() != "jr"):
        return False
    return not (len(words) == 2 and len(last) == 2 and words[0].isupper())


def _is_reversed(before: str, after: str) -> bool:
    """Say whether "Doe, Jane" is meant: one or two words on each side."""
    return (
        0 < len(before.split()) <= 3
        and 0 < len(after.split(",", maxsplit=1)[0].split()) <= 2
        and "," not in after
    )


def _is_first_of_two(word: str) -> bool:
    name = folded(word)
    return name in _FIRST_OF_TWO or (len(name) > 4 and name.endswith("ez"))


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
        pairs = _WORDS.korean.split()
    elif _HAN.fullmatch(word) and len(word) <= 4 and not _KANA.search(word):
        pairs = _WORDS.chinese.split()
        if len(word) == 4 and word[:2] not in pairs:
            return None, None  # Japanese, most likely: two and two, or not
    else:
        return None, None
    cut = 2 if word[:2] in pairs and len(word) > 2 else 1
    return word[cut:], word[:cut]
