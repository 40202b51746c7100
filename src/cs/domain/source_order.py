"""Whom to ask first: what is free, then by what a verified e-mail is expected to cost.  Pure.

The expected cost is that of `Prior.questions` questions at the price of the settings with
`Prior.verified_each` verified people each, and of all that the log has on top of them::

    (k * price + spent) / (k * y + verified)

``(k * y + verified) / (k + asked)`` is the mean yield of a question after that evidence: of a
verifier, whose question verifies one person or nobody, with Beta(k*y, k*(1 - y)) before it
(beta-binomial); of a people source, whose search may bring several, with Gamma(k*y, k) before
it (gamma-Poisson).  ``(k * price + spent) / (k + asked)`` is the mean price in the same way.
With nothing in the log it is price / y; the more questions the log has, the less the prior
counts (docs/decisions/0046).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from cs.domain.source_cost import SourceFigures
from cs.domain.stages.work import StageName

T = TypeVar("T")


class Prior(msgspec.Struct, frozen=True):
    """What is taken for granted of a source before the log says anything.

    Attributes:
        questions: How many questions that is worth.
        verified_each: Verified people a question, more than 0.
    """

    questions: int
    verified_each: float


#: Assumed, not measured; the log's own figures outweigh them after as many questions.  A paid
#: verifier is asked what the free ones left open, up to four guesses a person: one in four
#: verifies somebody.  A paid search brings up to ten people, two of them in a role with an
#: e-mail that can be verified.
PRIORS: Mapping[StageName, Prior] = {
    "verification": Prior(questions=20, verified_each=0.25),
    "contact-discovery": Prior(questions=5, verified_each=2.0),
}


class PricedSource(NamedTuple, Generic[T]):
    """Somebody who may be asked.

    Attributes:
        name: Of the source or verifier.
        price_micros: Of one question by the settings, in millionths of a US dollar; 0: free.
        who: Whatever stands for them.
    """

    name: str
    price_micros: int
    who: T


class OrderedSource(NamedTuple, Generic[T]):
    """One place in the order of asking; ``expected_micros`` is ``None`` for what is free."""

    who: T
    name: str
    expected_micros: int | None


def expected_micros(price_micros: int, figures: SourceFigures | None, prior: Prior) -> int:
    """Return what a verified e-mail is expected to cost, in millionths of a US dollar.

    >>> expected_micros(10_000, None, Prior(20, 0.25))
    40000
    >>> found = SourceFigures(stage="verification", name="a", micros=200_000, verified=15)
    >>> expected_micros(10_000, found, Prior(20, 0.25))
    20000
    """
    spent = 0 if figures is None else figures.micros
    verified = 0 if figures is None else figures.verified
    k, y = prior.questions, prior.verified_each
    return round((k * price_micros + spent) / (k * y + verified))


def in_order(
    stage: StageName,
    askable: Sequence[PricedSource[T]],
    figures: Iterable[SourceFigures] = (),
    *,
    first: Sequence[str] = (),
) -> list[OrderedSource[T]]:
    """Return *askable* in the order of asking.

    What is free comes first, always.  Among what is free, and among what is not, come those
    that the operator named, in that order; of the others the free ones stay in theirs and
    the paid ones go by `expected_micros`, then by name.

    Args:
        stage: That asks.
        askable: Everybody who may be asked.
        figures: What the log says; those of other stages are passed over.
        first: Names, as the operator ordered them.
    """
    known = {each.name: each for each in figures if each.stage == stage}
    named = {name: place for place, name in enumerate(first)}
    places = [
        OrderedSource(
            each.who,
            each.name,
            expected_micros(each.price_micros, known.get(each.name), PRIORS[stage])
            if each.price_micros > 0
            else None,
        )
        for each in askable
    ]

    def rank(place: OrderedSource[T]) -> tuple[bool, int, int, str]:
        cost = place.expected_micros
        return (
            cost is not None,
            named.get(place.name, len(named)),
            cost or 0,
            "" if cost is None else place.name,
        )

    return sorted(places, key=rank)
