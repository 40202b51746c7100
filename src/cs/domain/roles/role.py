"""From a headline to the role its writer holds: title, family, level, and their worth.

Of several roles the first eligible one counts, then the first of a family asked for, then
the first at all.
"""

import msgspec

from cs.domain.names.plain_text import plain
from cs.domain.roles.labels import (
    ELIGIBLE,
    Family,
    Level,
    family_named,
    family_of,
    helps_a_leader,
    is_community,
    is_creator,
    level_of,
)
from cs.domain.roles.piece import piece
from cs.domain.roles.reading import ClaimedRole, HeadlineReading, read

#: The order of the families in contract text 1, lowest first.
_FAMILIES = (Family.BRAND, Family.PARTNERSHIPS, Family.SOCIAL, Family.INFLUENCER)

#: People who run it come first: a head or director of influencer marketing decides on it, a
#: vice president or chief has it among other things, a manager carries it out.
_WEIGHTS = {
    Level.HEAD: 1.0,
    Level.DIRECTOR: 1.0,
    Level.VP: 0.9,
    Level.C_LEVEL: 0.8,
    Level.SENIOR_MANAGER: 0.6,
    Level.MANAGER: 0.4,
}


class JobRole(msgspec.Struct, frozen=True, kw_only=True):
    """The role that a headline states.

    Attributes:
        family: influencer, social, partnerships, brand or other.
        level: A value of `cs.domain.roles.labels.Level`.
        eligible: One of the four families, manager level and up.
        title: The role as written, without employer and ornament; None if there is none.
        company: The employer named with it, if any.
        score: 0 if not eligible; else above 0 and at most 1, by family, then level.
    """

    family: str
    level: str
    eligible: bool
    title: str | None
    company: str | None
    score: float


def classify(headline: str) -> JobRole:
    """Return the role *headline* speaks of.  Never raises.

    >>> classify("Former Model | Head of Social at Acme").title
    'Head of Social'
    """
    reading = read(headline)
    lives = piece(plain(headline)).has("living")
    judged = [(claim, *_judged(claim, lives=lives)) for claim in reading.claims]
    if not judged:
        topic = Family(_topic(reading))
        return role_of(topic, Level.UNKNOWN, title=None, company=None)
    claim, family, level = max(judged, key=_worth)
    return role_of(family, level, title=claim.role, company=claim.company)


def role_of(family: Family, level: Level, *, title: str | None, company: str | None) -> JobRole:
    """Return the role of that *family* and *level*, with its worth."""
    eligible = family is not Family.OTHER and level in ELIGIBLE
    return JobRole(
        family=family.value,
        level=level.value,
        eligible=eligible,
        title=title,
        company=company,
        score=(_FAMILIES.index(family) + _WEIGHTS[level]) / len(_FAMILIES) if eligible else 0.0,
    )


def _worth(judged: tuple[ClaimedRole, Family, Level]) -> int:
    """Return how much a claim counts; the first of those that are worth the same does."""
    claim, family, level = judged
    if family is not Family.OTHER and level in ELIGIBLE:
        return 4
    if piece(claim.role).has("filler"):
        return 1
    return 2 if family is Family.OTHER else 3


def _judged(claim: ClaimedRole, *, lives: bool) -> tuple[Family, Level]:
    """Return family and level; *lives* says that the headline names a place to live in."""
    if helps_a_leader(claim.role):
        return Family.OTHER, Level.COORDINATOR
    if is_creator(claim.role):
        return Family.OTHER, Level.UNKNOWN
    family = family_of(claim.role)
    if family is Family.SOCIAL and lives and is_community(claim.role):
        family = Family.OTHER
    return family, level_of(claim.role)


def _topic(reading: HeadlineReading) -> str:
    named = (family_named(topic) for topic in reading.topics)
    return next((family.value for family in named if family is not Family.OTHER), "other")
