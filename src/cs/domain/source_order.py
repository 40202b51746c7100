"""The order of asking: what is free, then by expected cost per verified e-mail.  Pure.

The expected cost is that of `Prior.questions` questions at the configured price, with
`Prior.verified_each` verified people each, plus all that the log has of the source::

    (k * price + spent) / (k * y + verified)

The more questions the log has, the less the prior counts (docs/sources.md).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from cs.domain.source_cost import SourceFigures
from cs.domain.stages.work import StageName

T = TypeVar("T")


class Prior(msgspec.Struct, frozen=True):
    """Assumed yield of a source before the log says anything.

    Attributes:
        questions: How many questions that is worth.
        verified_each: Verified people a question, more than 0.
    """

    questions: int
    verified_each: float


#: Assumed, not measured; the log's own figures outweigh them after as many questions.  A paid
#: verifier is asked what the free ones left open, up to four guesses a person: one in four
#: verifies one address.  A paid search brings up to ten people, two of them in a role with an
#: e-mail that can be verified.
PRIORS: Mapping[StageName, Prior] = {
    "verification": Prior(questions=20, verified_each=0.25),
    "contact-discovery": Prior(questions=5, verified_each=2.0),
}


class PricedSource(NamedTuple, Generic[T]):
    """A source or verifier that may be asked.

    Attributes:
        name: Of the source or verifier.
        price_micros: Of one question by the settings, in millionths of a US dollar; 0: free.
        who: Whatever stands for it.
        expected_micros: Per verified e-mail, set by `in_order`; ``None`` for what is free.
    """

    name: str
    price_micros: int
    who: T
    expected_micros: int | None = None


def expected_micros(price_micros: int, figures: SourceFigures | None, prior: Prior) -> int:
    """Return the expected cost of a verified e-mail, in millionths of a US dollar.

    >>> expected_micros(10_000, None, Prior(20, 0.25))
    40000
    """
    spent, verified = (0, 0) if figures is None else (figures.micros, figures.verified)
    k, y = prior.questions, prior.verified_each
    return round((k * price_micros + spent) / (k * y + verified))


def in_order(
    stage: StageName,
    askable: Iterable[PricedSource[T]],
    figures: Iterable[SourceFigures] = (),
    *,
    first: Sequence[str] = (),
) -> list[PricedSource[T]]:
    """Return *askable* in the order of asking, free ones first.

    Among the free ones, and among the others, those in *first*, the operator's order, come
    first.  The rest of the free ones keep their order; the rest of the others go by
    `expected_micros`, then by name.
    """
    known = {each.name: each for each in figures if each.stage == stage}
    place = {name: at for at, name in enumerate(first)}

    def rank(each: PricedSource[T]) -> tuple[bool, int, int, str]:
        cost, at = each.expected_micros, place.get(each.name, len(place))
        return (False, at, 0, "") if cost is None else (True, at, cost, each.name)

    priced = [
        each._replace(
            expected_micros=expected_micros(
                each.price_micros, known.get(each.name), PRIORS[stage]
            )
            if each.price_micros > 0
            else None
        )
        for each in askable
    ]
    return sorted(priced, key=rank)
