"""The words of headlines made comparable: as `cs.domain.names.plain_text`, and forgiving.

Marks of Thai, Lao and the Indian scripts are parts of words, points of Arabic and Hebrew
are not, and common words with one letter wrong are read as they were meant.
"""

import re
from functools import cache

from cs.domain.names import plain_text
from cs.domain.names.phrases import word_set
from cs.domain.names.plain_text import folded

_POINTS = re.compile("[\u0591-\u05c7\u0610-\u061a\u0640\u064b-\u0652\u0670]")
_MARKS = "\u0900-\u0e00\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
_NOT_WORD = re.compile(rf"(?:(?![{_MARKS}])[\W_])+")
_MARKED = re.compile("[\u0590-\u06ff\u0900-\u0eff]")

#: Words that decide what a role is, long enough for a slip to leave them recognizable.
_LONG = word_set(
    """
    manager managerin marketing director coordinator influencer influencers partnership
    partnerships sponsorship ambassador specialist responsable collaboration strategist
    executive creator creators community leiterin
    """
)
#: Too short for any slip: only neighbouring letters swapped, or one written twice.
_SHORT = word_set("brand social media head senior lead chef")
#: Other words than those they look like.
_WORDS = (
    word_set(
        """
        ambasador ambassade ambassadors branding brands communities coordinador coordinators
        create created creater creates creations creative creator creatore creators creature
        directeur director directora directore directors directory direktor direktorin
        executives heads heady influence influenced influences influenceur influenceurs
        influenceuse koordinator leade leader leads leiter manage managed managerin
        managerinnen managern managers manages manageur marketings markting mediaa mediae
        medial medias menager partnership responsabile responsables seniors senor sociaal
        sociala sociale socials socialt specialista specialiste specialists
        """
    )
    | _LONG
    | _SHORT
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
#: A slip never changes the first letter.
_FIRST = frozenset(word[0] for word in _LONG | _SHORT)


@cache
def _slips(first: str) -> dict[str, str]:
    """Return words with one slip that begin with the letter *first*, by what was meant.

    One letter's are made when a headline first has a word that begins with it and is none
    of those meant: all of them would take 8 ms.
    """
    meant: dict[str, str] = {}
    for word in sorted(word for word in _LONG if word[0] == first):
        for n in range(1, len(word)):
            meant[word[:n] + word[n + 1 :]] = word
            for letter in _LETTERS:
                meant[word[:n] + letter + word[n:]] = word
                meant[word[:n] + letter + word[n + 1 :]] = word
    for word in sorted(word for word in _LONG | _SHORT if word[0] == first):
        meant[word + word[-1]] = word
        for n in range(1, len(word)):
            meant[word[:n] + word[n - 1] + word[n:]] = word
        for n in range(2, len(word)):
            meant[word[: n - 1] + word[n] + word[n - 1] + word[n + 1 :]] = word
    return meant


def _meant(word: str) -> str:
    if word[:1] not in _FIRST or word in _WORDS:
        return word
    return _slips(word[0]).get(word, word)


def flat(text: str) -> str:
    """Return the folded words of *text* with one space between, slips put right.

    >>> flat("Influencer-Marketing Mananger")
    'influencer marketing manager'
    """
    if not text.isascii() and _MARKED.search(text):
        flat_text = _NOT_WORD.sub(" ", _POINTS.sub("", folded(text))).strip()
    else:
        flat_text = plain_text.flat(text)
    return " ".join(map(_meant, flat_text.split(" ")))
