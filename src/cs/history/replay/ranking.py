"""Ranking people again: who would be shown, who not any more, who elsewhere."""

from collections.abc import Sequence

import msgspec

from cs.domain.contact import LeftOut, RankedPerson
from cs.history.replay.difference import (
    AnswerDifference,
    Change,
    LookupComparison,
    Totals,
    difference,
    effect_of,
)
from cs.history.replay.recorded import RecordedLookup
from cs.history.replay.rules import Rules


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where somebody stands.

    Attributes:
        place: Among those shown, from 1; ``None``: not shown.
        left_out: Why not.
        family, level, score: The role that was read, of somebody who is shown.
        retitled: Whether another title is read of the headline than then.
        title: Where people are revealed.
    """

    place: int | None = None
    left_out: str | None = None
    family: str | None = None
    level: str | None = None
    score: float | None = None
    retitled: bool = False
    title: str | None = None


def compare_ranking(lookup: RecordedLookup, rules: Rules, totals: Totals) -> LookupComparison:
    """Rank the people of *lookup* by *rules*, and return what would differ.

    People who are erased by now are in neither ranking; the places that they had stay theirs.
    """
    recorded, brand = lookup.ranking, lookup.brand
    if recorded is None or brand is None:
        totals.miss("nobody was ranked")
        return LookupComparison()
    totals.replayed += 1
    people = lookup.people
    limit = max(lookup.limit - recorded.erased, 0)
    ranked, left_out = rules.rank(brand, people, limit, recorded.opinions)
    totals.answered_by(recorded.rules, len(people))
    if ranked == recorded.ranked:
        return LookupComparison()
    names = {person.person: person.full_name for person in people}
    there = names.keys()
    before = _Order(
        [each for each in recorded.ranked if each.person in there], recorded.left_out
    )
    after = _Order(ranked, left_out)
    moved = _moved(before.people, after.people)
    differences: list[AnswerDifference] = []
    for person in sorted(there, key=_number):
        change = _change(person, before, after, moved)
        if change is None:
            continue
        totals.count(change)
        retitled = change == "changed" and before.title(person) != after.title(person)
        differences.append(
            difference(
                lookup,
                "ranking",
                change,
                rules=recorded.rules,
                was=before.place(person),
                would_be=after.place(person, retitled=retitled),
                person=person,
                name=names[person],
            )
        )
    erased = bool(lookup.verified - there)
    gained = set(after.people) - set(before.people)
    effect = effect_of(
        was_charged=erased or bool(lookup.verified & set(before.people)),
        is_charged=erased or bool(lookup.verified & set(after.people)),
        is_open=bool(gained - lookup.verified) and bool(brand.mail_domains),
    )
    return LookupComparison(tuple(differences), effect)


class _Order:
    """A ranking, asked about single people."""

    def __init__(self, ranked: Sequence[RankedPerson], left_out: Sequence[LeftOut]) -> None:
        self.people = [each.person for each in ranked]
        self._ranked = {each.person: (n, each) for n, each in enumerate(ranked, 1)}
        self._left_out = {left.person: left.why for left in left_out}

    def place(self, person: str, *, retitled: bool = False) -> Place:
        if person not in self._ranked:
            return Place(left_out=self._left_out.get(person, "not-ranked"))
        number, each = self._ranked[person]
        return Place(
            place=number,
            family=each.family,
            level=each.level,
            score=each.score,
            retitled=retitled,
            title=each.title,
        )

    def shows(self, person: str) -> bool:
        return person in self._ranked

    def role(self, person: str) -> tuple[str, str, str]:
        _, each = self._ranked[person]
        return each.family, each.level, each.title

    def title(self, person: str) -> str:
        return self.role(person)[2]


def _change(person: str, before: _Order, after: _Order, moved: set[str]) -> Change | None:
    if before.shows(person) and after.shows(person):
        same = person not in moved and before.role(person) == after.role(person)
        return None if same else "changed"
    if before.shows(person):
        return "lost"
    return "gained" if after.shows(person) else None


def _moved(before: Sequence[str], after: Sequence[str]) -> set[str]:
    """Return who of those in both stands elsewhere among them."""
    both = set(before) & set(after)
    orders = ([person for person in order if person in both] for order in (before, after))
    return {one for pair in zip(*orders, strict=True) if pair[0] != pair[1] for one in pair}


def _number(person: str) -> tuple[int, str]:
    digits = person.removeprefix("p")
    return (int(digits) if digits.isdecimal() else 0, person)
