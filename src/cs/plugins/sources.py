"""All that a brand source or a people source is written with.

A source is a plug-in that asks one outside service.  It is found by entry point
(``cs.brand_sources``, ``cs.people_sources``): a function from `SourceContext` to a source.
A source never raises for what the outside world does: it says how its run ended, because a
missing key or a rate limit must never look like an empty answer.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from cs.domain.contact import BrandFacts, BrandMatch, Query, Sighting
from cs.outside.port import Fetcher, Forbidden, Response, Unreachable
from cs.paid_calls.errors import CallsUnavailable, NotAsked, NotCharged, Unanswered
from cs.paid_calls.paid import EVERY_TIME, Paid
from cs.plugins.declared_settings import SECRET, takes

__all__ = [
    "ANSWERED",
    "EVERY_TIME",
    "INCONCLUSIVE",
    "SECRET",
    "BrandAnswer",
    "BrandFacts",
    "BrandMatch",
    "BrandSource",
    "CallsUnavailable",
    "Fetcher",
    "Forbidden",
    "NotAsked",
    "NotCharged",
    "Paid",
    "PeopleAnswer",
    "PeopleSource",
    "Query",
    "Response",
    "Sighting",
    "SourceContext",
    "SourceStatus",
    "Unanswered",
    "Unreachable",
    "causes_of",
    "missing_of",
    "takes",
]


class SourceContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a source may be made from.

    Attributes:
        trusted: For base URLs from *settings*.
        guarded: For every address that came from a caller or the web.
        settings: Those of this source that are set, of the ones that it declares with
            `takes`.  Where one is missing, the source is not configured, and says so when
            it is asked.
        now: The time, with its offset.
        paid: For every question that the provider charges for.
    """

    trusted: Fetcher
    guarded: Fetcher
    settings: Mapping[str, Any] = {}
    now: Callable[[], datetime]
    paid: Paid = EVERY_TIME


class SourceStatus(StrEnum):
    """How one run of a source ended."""

    USED = "used"
    NO_RESULTS = "no_results"
    NOT_CONFIGURED = "not_configured"
    RATE_LIMITED = "rate_limited"
    FAILED = "failed"


#: Endings of a source that could answer.
ANSWERED = frozenset({SourceStatus.USED, SourceStatus.NO_RESULTS})
#: Endings after which "nothing found" means nothing.
INCONCLUSIVE = frozenset({SourceStatus.RATE_LIMITED, SourceStatus.FAILED})


class BrandAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a brand source found, and how its run ended.

    Attributes:
        matches: Best first.
        why: For people, when it is neither ``USED`` nor ``NO_RESULTS``.
        retry_in_s: When the service says when to come back, in seconds.
        permanent: ``FAILED`` until the operator mends it: a key refused, JSON off.
    """

    source: str
    ended: SourceStatus
    matches: tuple[BrandMatch, ...] = ()
    why: str | None = None
    retry_in_s: float | None = None
    permanent: bool = False


class PeopleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What a people source found, and how its run ended; otherwise as `BrandAnswer`."""

    source: str
    ended: SourceStatus
    people: tuple[Sighting, ...] = ()
    why: str | None = None
    retry_in_s: float | None = None
    permanent: bool = False


class BrandSource(Protocol):
    @property
    def name(self) -> str:
        """The name of its entry point."""

    async def find(self, query: Query, known: BrandFacts | None) -> BrandAnswer:
        """Find the brand of *query*; *known* is what earlier sources established, if any.

        With *known* the source completes it: its match repeats what it can confirm and
        adds what was missing (a web site's footer gives the social pages).
        """


class PeopleSource(Protocol):
    @property
    def name(self) -> str:
        """The name of its entry point."""

    async def find(self, brand: BrandFacts, *, limit: int) -> PeopleAnswer:
        """Find people who say they work for *brand* (or its parent); at most *limit*."""


def missing_of(source: object) -> str | None:
    """Return what has to be set before *source* can answer, ``None`` if nothing is missing.

    A source may say so itself in an attribute ``missing``; one without is taken as complete,
    and reported when it ends `SourceStatus.NOT_CONFIGURED`.
    """
    missing = getattr(source, "missing", None)
    return missing if isinstance(missing, str) else None


def causes_of(answers: Iterable[BrandAnswer | PeopleAnswer]) -> dict[str, str]:
    """Return by source why it could not answer, if it said why."""
    return {
        answer.source: answer.why
        for answer in answers
        if answer.why and answer.ended not in ANSWERED
    }
