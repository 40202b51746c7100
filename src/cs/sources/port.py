"""What brand and people sources are: plug-ins that ask one outside service each.

Found by entry point (``cs.brand_sources``, ``cs.people_sources``).  A source never
raises for what the outside world does: it says how its run ended, because a missing
key or a rate limit must never look like an empty answer.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol

import msgspec

from cs.domain.contact import BrandFacts, Query, Sighting


class Ended(StrEnum):
    """How one run of a source ended."""

    USED = "used"
    NO_RESULTS = "no_results"
    NOT_CONFIGURED = "not_configured"
    RATE_LIMITED = "rate_limited"
    FAILED = "failed"


def missing_of(source: object) -> str | None:
    """Return what has to be set before *source* can answer, ``None`` if nothing is missing.

    A source may say so itself in an attribute ``missing``; one without is taken as complete,
    and told of when it ends `Ended.NOT_CONFIGURED`.
    """
    missing = getattr(source, "missing", None)
    return missing if isinstance(missing, str) else None


#: Endings of a source that could answer.
ANSWERED = frozenset({Ended.USED, Ended.NO_RESULTS})
#: Endings after which "nothing found" means nothing.
INCONCLUSIVE = frozenset({Ended.RATE_LIMITED, Ended.FAILED})


class BrandMatch(msgspec.Struct, frozen=True, kw_only=True):
    """One brand that may be the one asked for.

    ``score`` is 0 to 1: how sure the source is that this is the brand meant by the
    query (1.0: the asked domain is its own; 0.9: exact name; lower: similar names).
    Two matches that score alike are ambiguous; that is the stage's call, not the source's.
    """

    facts: BrandFacts
    score: float
    key: str = ""  # the source's own id of it, for logs and evidence: "Q123", a domain


class BrandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    ended: Ended
    matches: tuple[BrandMatch, ...] = ()  # best first
    why: str | None = None  # for people, when it is not USED or NO_RESULTS
    retry_in_s: float | None = None
    permanent: bool = False  # FAILED until the operator mends it: a key refused, JSON off


class BrandSource(Protocol):
    @property
    def name(self) -> str: ...

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find the brand of *query*; *known* is what earlier sources established, if any.

        With *known* the source completes it: its match repeats what it can confirm and
        adds what was missing (a web site's footer gives the social pages).
        """


class PeopleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    ended: Ended
    people: tuple[Sighting, ...] = ()
    why: str | None = None
    retry_in_s: float | None = None
    permanent: bool = False


def causes_of(answers: Iterable[BrandAnswer | PeopleAnswer]) -> dict[str, str]:
    """Return by source why it could not answer, if it said why."""
    return {
        answer.source: answer.why
        for answer in answers
        if answer.why and answer.ended not in ANSWERED
    }


class PeopleSource(Protocol):
    @property
    def name(self) -> str: ...

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who say they work for *brand* (or its parent); at most *limit*."""
