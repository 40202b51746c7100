"""What an operator's own language model says of headlines, beside what the rules read.

For ``cs classify --opinion``: the model is asked about every headline, whether the rules are
unsure of it or not; a search asks about the unsure ones alone.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import msgspec

from cs.domain.contact import Opinion, Person
from cs.domain.headline.doubt import doubts
from cs.domain.headline.role import JobRole, classify
from cs.domain.opinions import nameless, settled
from cs.opinions.port import AT_ONCE, SecondOpinion, UnsureHeadline
from cs.paid_calls.problems import ServiceProblem
from cs.pipeline.cost_meter import asking, metered

#: How long the model has for one call.
TIMEOUT_S = 30.0
_MICROS = 1_000_000


class AskedHeadline(Protocol):
    @property
    def headline(self) -> str: ...
    @property
    def id(self) -> str | int | None: ...


class JudgedHeadline(msgspec.Struct, frozen=True, kw_only=True):
    """One headline.

    Attributes:
        role: As the rules read it; ``doubts``: why they are unsure of that, if they are.
        sent: The text that the model was given.
        opinion: What it said; ``None``: nothing, as ``why`` says.
        counts: Whether a search would read the headline otherwise for it.
        read: As a search reads it then.
        usd: Its share of what the call cost at most.
    """

    id: str | int | None
    role: JobRole
    doubts: tuple[str, ...]
    sent: str
    opinion: Opinion | None
    why: str | None
    counts: bool
    read: JobRole
    usd: float


def in_calls(items: Iterable[AskedHeadline]) -> Iterator[list[AskedHeadline]]:
    """Yield *items* as many at a time as one call takes."""
    rest = iter(items)
    while some := list(islice(rest, AT_ONCE)):
        yield some


async def judged(
    model: SecondOpinion, headlines: Sequence[AskedHeadline]
) -> list[JudgedHeadline]:
    """Return what *model* and the rules say of each of *headlines*, `AT_ONCE` at most."""
    roles = [classify(each.headline) for each in headlines]
    unsure = [
        UnsureHeadline(
            person=f"p{n}",
            text=nameless(each.headline, Person(person=f"p{n}", full_name="")),
            doubts=tuple(sorted(doubts(each.headline, role))),
        )
        for n, (each, role) in enumerate(zip(headlines, roles, strict=True), 1)
    ]
    found: dict[str, Opinion] = {}
    why = "it said nothing of this headline"
    with metered() as meter:
        try:
            with asking(model.name):
                async with asyncio.timeout(TIMEOUT_S):
                    found = {each.person: each for each in await model.of(unsure)}
        except ServiceProblem as wrong:
            why = wrong.why
        except TimeoutError:
            why = f"it did not answer in {TIMEOUT_S:.0f} s"
    usd = sum(cost.micros for cost in meter.costs()) / _MICROS / len(headlines)
    rows: list[JudgedHeadline] = []
    for asked, role, sent in zip(headlines, roles, unsure, strict=True):
        opinion = found.get(sent.person)
        doubted = doubts(asked.headline, role)
        read = role if opinion is None else settled(role, doubted, opinion, asked.headline)
        rows.append(
            JudgedHeadline(
                id=asked.id,
                role=role,
                doubts=sent.doubts,
                sent=sent.text,
                opinion=opinion,
                why=None if opinion is not None else why,
                counts=read != role,
                read=read,
                usd=round(usd, 6),
            )
        )
    return rows
