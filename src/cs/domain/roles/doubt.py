"""Reasons why the reading of a headline is unsure.

A reading without a doubt is clear, and no opinion changes it; one with a doubt is clear in all
parts that the doubt does not leave open (`OPEN`).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from cs.domain.names.plain_text import plain
from cs.domain.roles.labels import ELIGIBLE, Family, Level, family_named
from cs.domain.roles.lexicon import lexicon
from cs.domain.roles.piece import piece
from cs.domain.roles.reading import is_sentence, read
from cs.domain.roles.role import JobRole


class Doubt(StrEnum):
    """One reason to be unsure; stored with opinions, so that its name never changes."""

    #: Eligible, and words stand in the title that may turn it: "Brand Manager Software".
    UNKNOWN_WORDS = "unknown-words"
    #: A family and no level, where a word may be one: "Markenmanger".
    NO_LEVEL = "no-level"
    #: A level and no family, next to a word that may be one: "Manajer Sosial Media".
    NO_FAMILY = "no-family"
    #: Eligible, and another role is named too: "QA tester | Social Media Manager".
    SEVERAL_ROLES = "several-roles"
    #: A family is named among words that titles do not have, but sentences.
    SENTENCE = "sentence"
    #: Something is written in letters that no language of the tables has.
    UNKNOWN_SCRIPT = "unknown-script"
    #: Eligible, but elsewhere; yet the brand is named, too (`cs.domain.ranking`).
    OTHER_COMPANY = "other-company"


#: A part of what is read.
Part = Literal["family", "level", "company"]
_ROLE: frozenset[Part] = frozenset({"family", "level", "company"})
#: The parts that each doubt leaves open; all others are clear.
OPEN: Mapping[Doubt, frozenset[Part]] = {
    Doubt.UNKNOWN_WORDS: _ROLE,
    Doubt.NO_LEVEL: frozenset({"level"}),
    Doubt.NO_FAMILY: frozenset({"family"}),
    Doubt.SEVERAL_ROLES: _ROLE,
    Doubt.SENTENCE: _ROLE,
    Doubt.UNKNOWN_SCRIPT: _ROLE,
    Doubt.OTHER_COMPANY: frozenset({"company"}),
}


def doubts(headline: str, role: JobRole) -> frozenset[Doubt]:
    """Return why *role*, what was read of *headline*, is unsure; none: it is clear.

    >>> from cs.domain.roles.role import classify
    >>> doubts("Markenmanger at Acme", classify("Markenmanger at Acme"))
    frozenset({<Doubt.NO_LEVEL: 'no-level'>})
    """
    text = plain(headline)
    found = set[Doubt]()
    has_unknown = bool(role.title and piece(role.title).unknown_words)
    if role.eligible:
        if has_unknown:
            found.add(Doubt.UNKNOWN_WORDS)
        if _has_another(headline, role):
            found.add(Doubt.SEVERAL_ROLES)
    elif role.family != Family.OTHER and role.level == Level.UNKNOWN and role.title:
        found.add(Doubt.NO_LEVEL)
    elif role.family == Family.OTHER and Level(role.level) in ELIGIBLE and has_unknown:
        found.add(Doubt.NO_FAMILY)
    if is_sentence(text) and family_named(text) is not Family.OTHER:
        found.add(Doubt.SENTENCE)
    if not text.isascii() and not all(
        map(lexicon().is_of_known_script, filter(str.isalpha, text))
    ):
        found.add(Doubt.UNKNOWN_SCRIPT)
    return frozenset(found)


def _has_another(headline: str, role: JobRole) -> bool:
    """Say whether *headline* claims another role than *role*, and no mere honour."""
    others = (claim.role for claim in read(headline).claims if claim.role != role.title)
    return any(not piece(other).has("filler") for other in others)
