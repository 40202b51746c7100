"""From a headline to the role its writer holds: title, family, level, and their worth.

The reading of the text is `cs.domain.headline.headline`'s; this module chooses.  Of several
roles the first eligible one counts, then the first of a family asked for, then the
first at all.
"""

import msgspec

from cs.domain.headline import words
from cs.domain.headline.headline import ClaimedRole, HeadlineReading, read
from cs.domain.headline.role_family import (
    Family,
    family_named,
    family_of_work,
    helps_a_leader,
    is_community,
    is_creator,
)
from cs.domain.headline.role_level import ELIGIBLE, Level, level_of
from cs.domain.headline.spelling import flat
from cs.domain.names.plain_text import plain

#: The order of the families in contract text 1, lowest first.
_FAMILIES = (Family.BRAND, Family.PARTNERSHIPS, Family.SOCIAL, Family.INFLUENCER)

#: Who runs it comes first: a head or director of influencer marketing decides on it, a
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
    """What a headline says somebody does.

    Attributes:
        family: influencer, social, partnerships, brand or other.
        level: A value of `cs.domain.headline.role_level.Level`.
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


#: What counts where nobody says what they do.
_NONE: tuple[ClaimedRole | None, Family, Level] = (None, Family.OTHER, Level.UNKNOWN)


def classify(headline: str) -> JobRole:
    """Return the role *headline* speaks of.  Never raises.

    >>> classify("Former Model | Head of Social at Acme").title
    'Head of Social'
    """
    reading = read(headline)
    said = flat(plain(headline))
    judged = [(claim, *_judged(claim, said)) for claim in reading.claims]
    claim, family, level = max(judged, key=_worth, default=_NONE)
    if claim is None:
        return JobRole(
            family=_topic(reading),
            level=Level.UNKNOWN.value,
            eligible=False,
            title=None,
            company=None,
            score=0,
        )
    return role_of(family, level, title=claim.role, company=claim.company)


def role_of(family: Family, level: Level, *, title: str | None, company: str | None) -> JobRole:
    """Return the role of that *family* and *level*, with its worth."""
    return JobRole(
        family=family.value,
        level=level.value,
        eligible=_is_eligible(family, level),
        title=title,
        company=company,
        score=_score(family, level),
    )


def _worth(judged: tuple[ClaimedRole | None, Family, Level]) -> int:
    """Return how much a claim counts; the first of those that are worth the same does."""
    claim, family, level = judged
    if _is_eligible(family, level):
        # "Head of Social, formerly at Acme | Head of Brand at Zeta": the second is today's.
        return 4 if claim is not None and claim.is_left else 5
    if claim is None or words.FILLER.found(flat(claim.role)):
        return 1
    return 2 if family is Family.OTHER else 3


def _judged(claim: ClaimedRole, said: str) -> tuple[Family, Level]:
    if helps_a_leader(claim.role):
        return Family.OTHER, Level.COORDINATOR
    if is_creator(claim.role):
        return Family.OTHER, Level.UNKNOWN
    family = family_of_work(claim.role)
    if family is Family.SOCIAL and is_community(claim.role) and words.LIVING.found(said):
        family = Family.OTHER
    return family, level_of(claim.role)


def _is_eligible(family: Family, level: Level) -> bool:
    return family is not Family.OTHER and level in ELIGIBLE


def _score(family: Family, level: Level) -> float:
    if not _is_eligible(family, level):
        return 0.0
    return (_FAMILIES.index(family) + _WEIGHTS[level]) / len(_FAMILIES)


def _topic(reading: HeadlineReading) -> str:
    named = (family_named(topic) for topic in reading.topics)
    return next((family.value for family in named if family is not Family.OTHER), "other")
