"""What is run again: the rules as the log's questions need them, and those of today."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec
from msgspec.structs import replace

from cs.domain.contact import (
    BrandFacts,
    CheckedPerson,
    LeftOut,
    Opinion,
    Person,
    Query,
    RankedPerson,
    SourceMatches,
)
from cs.domain.headline.role import classify
from cs.domain.mail.conclusion import Conclusion, concluded
from cs.domain.mail.mailbox import Evidence
from cs.domain.ranking import rank
from cs.pipeline.brand_choice import BrandChoice
from cs.pipeline.brand_resolver import chosen_again
from cs.verifiers.smtp.rereading import ReadVerdict, reread
from cs.verifiers.smtp.verifier import NAME as SMTP

__all__ = [
    "TODAY",
    "BrandChoice",
    "BrokenRules",
    "Conclusion",
    "Judgement",
    "Ranking",
    "ReadVerdict",
    "Rules",
    "TodaysRules",
]

#: Who is shown, best first, and who is left out and why.
Ranking = tuple[tuple[RankedPerson, ...], tuple[LeftOut, ...]]

#: Headlines whose roles are remembered, some 500 bytes each: a brand's people are found again
#: with every lookup, and reading one takes a third of a millisecond.
_HEADLINES = 20_000


class BrokenRules(Exception):
    """Rules that cannot be had, or do not what rules do; the message says where and why."""


class Judgement(msgspec.Struct, frozen=True):
    """What was found about one person at one mail domain, judged again.

    Attributes:
        conclusion: What it comes to.
        readings: Of each piece of evidence what it says; ``None``: it cannot be told, so
            that it says what it said then.
    """

    conclusion: Conclusion
    readings: tuple[ReadVerdict | None, ...]


class Rules(Protocol):
    """A set of rules; pure: the same is answered whenever the same is asked.

    Each method may raise `BrokenRules`.
    """

    @property
    def name(self) -> str:
        """What they are called to people."""

    def rank(
        self,
        brand: BrandFacts,
        people: Sequence[Person],
        limit: int,
        opinions: Sequence[Opinion] = (),
    ) -> Ranking:
        """Return who of *people* is shown, as `cs.domain.ranking.rank` does."""

    def judge(self, checks: Sequence[CheckedPerson]) -> Sequence[Judgement]:
        """Return what the evidence of each of *checks* comes to."""

    def resolve(self, query: Query, matches: Sequence[SourceMatches]) -> BrandChoice:
        """Return the brand that *query* means, of those that sources named."""


class TodaysRules:
    """The rules that this version of the service runs with."""

    name = "today's rules"

    def __init__(self) -> None:
        self._classify = lru_cache(_HEADLINES)(classify)

    def rank(
        self,
        brand: BrandFacts,
        people: Sequence[Person],
        limit: int,
        opinions: Sequence[Opinion] = (),
    ) -> Ranking:
        return rank(brand, people, limit=limit, read=self._classify, opinions=opinions)

    def judge(self, checks: Sequence[CheckedPerson]) -> Sequence[Judgement]:
        return [self._judge(checked) for checked in checks]

    def _judge(self, checked: CheckedPerson) -> Judgement:
        readings = tuple([self.read_reply(found) for found in checked.evidence])
        if not checked.evidence:  # nobody was asked about them
            return Judgement(
                Conclusion(checked.verdict, checked.address, checked.verifier), readings
            )
        tried: dict[str, list[Evidence]] = {}
        for found, reading in zip(checked.evidence, readings, strict=True):
            again = found
            if reading is not None and not reading.says(found):
                again = replace(found, verdict=reading.verdict, reason=reading.reason)
            tried.setdefault(found.address, []).append(again)
        return Judgement(self.conclude(tried), readings)

    def read_reply(self, evidence: Evidence) -> ReadVerdict | None:
        """Return what *evidence* says; ``None``: it cannot be told, so it is as it was."""
        # Only of our own verifier is it known how a conversation is read.
        return reread(evidence) if evidence.verifier == SMTP else None

    def conclude(self, tried: Mapping[str, Sequence[Evidence]]) -> Conclusion:
        """Return what *tried*, evidence by address, comes to."""
        return concluded(tried)

    def resolve(self, query: Query, matches: Sequence[SourceMatches]) -> BrandChoice:
        return chosen_again(query, matches)


TODAY = TodaysRules()
