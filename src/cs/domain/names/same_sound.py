"""Whether two words may be one name, in two scripts or in two spellings of one script.

Rough on purpose, for where a name that stays does more harm than a word that goes: vowels,
"h" and doubled letters count for nothing, and one letter stands for all that sounds alike.
Cyrillic, Greek, kana and Hangul are read as `cs.domain.names.other_scripts` hears them.  Pure,
and nothing is remembered: the words are people's names.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from itertools import product

from cs.domain.names.other_scripts import transliterations
from cs.domain.names.person_name import ascii_forms

#: Sounds that are spelt with several letters, the longest first.
_SOUNDS = (
    *(("tsch", "s"), ("shch", "s"), ("sch", "s"), ("tch", "s"), ("sh", "s"), ("zh", "s")),
    *(("ts", "s"), ("tz", "s"), ("cz", "s"), ("ph", "f"), ("kh", "h"), ("ck", "k")),
    *(("x", "ks"), ("q", "k"), ("w", "v"), ("z", "s")),
)
#: What some languages say one way, and others another way.
_SAID = (("ch", ("s", "k", "h")), ("j", ("ds", "y")), ("c", ("k", "s")))
#: Korean writes either of them with one letter, Japanese "r" and "l".
_VOICELESS = str.maketrans("gdbr", "ktpl")
_VOWELS = re.compile("[aeiouyh]")
_SOFT = re.compile("[iyh]")
_DOUBLED = re.compile(r"(.)\1+")
_NOT_LETTERS = re.compile("[^a-z]")
#: Fewer consonants are in too many words: then the vowels count.
_CONSONANTS = 2


class SpokenWord:
    """A word that is compared with several: what is found of it is found once.

    Attributes:
        latin: Its spellings in plain letters; none if it is in another script.
        is_other_script: Whether it is in one that can be read aloud.
        sounds: How it sounds in the languages that say it differently.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.latin = frozenset(ascii_forms(text))

    def may_be(self, other: "SpokenWord") -> bool:
        """Return whether the two may be one name in two scripts.

        In one script only spellings with another letter for the same one count.

        >>> SpokenWord("Мюллер").may_be(SpokenWord("Müller"))
        True
        >>> SpokenWord("Miller").may_be(SpokenWord("Müller"))
        False
        """
        if self.is_other_script is not other.is_other_script:
            return not self.sounds.isdisjoint(other.sounds)
        return not self.latin.isdisjoint(other.latin)

    @cached_property
    def is_other_script(self) -> bool:
        return not self.latin and bool(transliterations(self._text))

    @cached_property
    def sounds(self) -> frozenset[str]:
        return _sounds(self.latin or transliterations(self._text.casefold()))


def _sounds(forms: Iterable[str]) -> frozenset[str]:
    """Return how a word of these *forms* sounds in the languages that say it differently."""
    found: set[str] = set()
    for form in forms:
        letters = _NOT_LETTERS.sub("", form)
        for said in product(*(ways for _, ways in _SAID)):
            text = letters
            for (spelt, _), way in zip(_SAID, said, strict=True):
                if spelt == "ch":  # before "c" is, and not within "sch"
                    text = re.sub("(?<![st])ch", way, text)
            for spelt, sound in _SOUNDS:
                text = text.replace(spelt, sound)
            for (spelt, _), way in zip(_SAID, said, strict=True):
                if spelt != "ch":
                    text = text.replace(spelt, way)
            found.add(_rough(text))
    return frozenset(found - {"="})  # of letters that all count for nothing


def _rough(text: str) -> str:
    text = _DOUBLED.sub(r"\1", text.translate(_VOICELESS))
    bare = _VOWELS.sub("", text)
    if len(bare) >= _CONSONANTS:
        return bare
    with_vowels = _DOUBLED.sub(r"\1", _SOFT.sub("", text))
    if len(with_vowels) >= _CONSONANTS:
        return f"~{with_vowels}"
    return f"={text.replace('h', '').replace('y', 'i')}"
