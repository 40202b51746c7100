"""All that a brand source or a people source is written with.

A source is a plug-in that asks one outside service.  It is found by entry point
(``cs.brand_sources``, ``cs.people_sources``): a function from `SourceContext` to a source.
A source never raises for what the outside world does: it says how its run ended, because a
missing key or a rate limit must never look like an empty answer.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from cs.directory.store import PeopleDirectory
from cs.domain.contact import (
    BrandFacts as BrandFacts,
    BrandMatch as BrandMatch,
    Query as Query,
    Sighting as Sighting,
)
from cs.plugins.paid_context import *  # noqa: F403
from cs.plugins.paid_context import ApiClient, Fetcher, PaidContext, ProblemKind, ServiceProblem


class SourceContext(PaidContext, frozen=True, kw_only=True):
    """The context that a source is made from; a missing setting is reported when it is asked.

    Attributes:
        trusted: For base URLs from *settings*.
        guarded: For every address that came from a caller or the web.
        directory: The operator's own people; ``None`` where there are none to ask.
    """

    trusted: ApiClient
    guarded: Fetcher
    directory: PeopleDirectory | None = None

    def _api_client(self) -> ApiClient:
        return self.trusted


class SourceStatus(StrEnum):
    """How one run of a source ended."""

    USED = "used"
    NO_RESULTS = "no_results"
    NOT_CONFIGURED = "not_configured"
    RATE_LIMITED = "rate_limited"
    OVER_BUDGET = "over_budget"
    NOT_NEEDED = "not_needed"
    FAILED = "failed"


#: Endings of a source that could answer.
ANSWERED = frozenset({SourceStatus.USED, SourceStatus.NO_RESULTS})
#: Endings after which "nothing found" means nothing.
INCONCLUSIVE = frozenset(
    {SourceStatus.RATE_LIMITED, SourceStatus.OVER_BUDGET, SourceStatus.FAILED}
)


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    ended: SourceStatus
    why: str | None = None
    retry_in_s: float | None = None
    permanent: bool = False


class BrandAnswer(_Answer, frozen=True, kw_only=True):
    """The answer of a brand source: its matches, and how its run ended.

    Attributes:
        matches: Best first.
        why: For people, when it is neither ``USED`` nor ``NO_RESULTS``.
        retry_in_s: When the service says when to come back, in seconds.
        permanent: ``FAILED`` until the operator mends it: a key refused, JSON off.
    """

    matches: tuple[BrandMatch, ...] = ()


class PeopleAnswer(_Answer, frozen=True, kw_only=True):
    """The answer of a people source; otherwise as `BrandAnswer`."""

    people: tuple[Sighting, ...] = ()


class BrandSource(Protocol):
    @property
    def name(self) -> str:
        """The name of its entry point."""

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find the brand of *query*; *known* is what earlier sources established, if any.

        A source whose attribute ``hints`` is true is asked only where the others know no brand
        of the name, and what it names counts once the brand's own site is called so.

        With *known* the source completes it: its match repeats what it can confirm and
        adds what was missing (a web site's footer gives the social pages).
        """


class PeopleSource(Protocol):
    @property
    def name(self) -> str:
        """The name of its entry point."""

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who say they work for *brand* (or its parent); at most *limit*."""


async def find_new(
    source: PeopleSource, brand: BrandFacts, *, limit: int, known: Sequence[Sighting]
) -> PeopleAnswer:
    """Ask *source* for people of *brand* in addition to those *known* from other sources.

    A source that charges for each person may have a method ``find_new`` with these
    parameters, and exclude people that it would charge for in vain; others are asked as ever.
    """
    find = getattr(source, "find_new", None)
    if find is None:
        return await source.find(brand, limit=limit)
    answer: PeopleAnswer = await find(brand, limit=limit, known=known)
    return answer


def missing_of(source: object) -> str | None:
    """Return what has to be set before *source* can answer, ``None`` if nothing is missing.

    A source may say so itself in an attribute ``missing``; one without is taken as complete,
    and reported when it ends `SourceStatus.NOT_CONFIGURED`.
    """
    missing = getattr(source, "missing", None)
    return missing if isinstance(missing, str) else None


def cost_of(source: object) -> float:
    """Return how many US dollars one search of *source* can cost at most; 0 is free.

    A source may say so itself in an attribute ``cost``.  Free people sources are asked first,
    and the others only while too few people in a role are found.
    """
    cost = getattr(source, "cost", 0.0)
    return float(cost) if isinstance(cost, int | float) else 0.0


def is_local(source: object) -> bool:
    """Say whether *source* answers from what the operator has here, by its own word.

    A source may say so in an attribute ``local``.  Such people sources are asked before the
    others, and one that has nothing yet is listed only if no other is asked.
    """
    return getattr(source, "local", False) is True


_STATUS_OF = {
    ProblemKind.RATE_LIMITED: SourceStatus.RATE_LIMITED,
    ProblemKind.PENDING: SourceStatus.RATE_LIMITED,
    ProblemKind.OVER_CAP: SourceStatus.OVER_BUDGET,
}


def failed_people(
    source: str, problem: ServiceProblem, people: tuple[Sighting, ...] = ()
) -> PeopleAnswer:
    """Return the answer of a people source whose service had *problem*.

    Args:
        source: Its name.
        problem: What `PaidService.ask` raised.
        people: Those it found before.
    """
    return PeopleAnswer(source=source, people=people, **_failed(problem))


def failed_brand(source: str, problem: ServiceProblem) -> BrandAnswer:
    """Return the answer of a brand source whose service had *problem*."""
    return BrandAnswer(source=source, **_failed(problem))


def _failed(problem: ServiceProblem) -> dict[str, Any]:
    return {
        "ended": _STATUS_OF.get(problem.kind, SourceStatus.FAILED),
        "why": problem.why,
        "retry_in_s": problem.retry_in_s,
        "permanent": problem.permanent,
    }


def causes_of(answers: Iterable[BrandAnswer | PeopleAnswer]) -> dict[str, str]:
    """Return by source why it could not answer, if it said why."""
    return {
        answer.source: answer.why
        for answer in answers
        if answer.why and answer.ended not in ANSWERED
    }
