"""Two live runs side by side: who joined, who left, and who is shown otherwise.  Pure.

Compared is whom each run shows: its contacts, as callers get them.  Who is the same person in
both is for the caller to say (`cs.history.identities`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec
from msgspec.structs import replace

from cs.domain.brand.brand import stream_of
from cs.domain.contact import Contact
from cs.history.runs import Run, RunPerson

Change = Literal["joined", "left", "changed"]

#: Ends of a run that say whom it would show; the others are breakdowns.
_ANSWERS = frozenset({"done", "no_emails", "no_contacts"})
#: What is told of somebody who is in both, in this order.
_FIELDS = ("title", "family", "level", "address", "company")


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a run shows somebody.

    Attributes:
        person: ``<lookup>#p1``.
        place: Among its contacts, from 1.
        family, level: The role that was read; ``None``: nobody was ranked.
        verified: Whether there is a verified address.
        name, title, company, address: Where people are revealed.
    """

    person: str
    place: int
    family: str | None = None
    level: str | None = None
    verified: bool = False
    name: str | None = None
    title: str | None = None
    company: str | None = None
    address: str | None = None


class PersonChange(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody whom the later run shows otherwise.

    Attributes:
        change: As `Change`.
        before, after: The two runs.
        at: When the later one ended.
        who: Who it is, the same in all runs; ``None``: nobody can tell.
        changed: What changed: of `_FIELDS`.
        was, now: How each run shows them; ``None``: it does not.
    """

    change: Change
    before: str
    after: str
    at: datetime | None
    who: str | None
    changed: tuple[str, ...] = ()
    was: Standing | None = None
    now: Standing | None = None


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, and what is different; `same` counts people who are shown alike."""

    before: str
    after: str
    changes: tuple[PersonChange, ...]
    same: int

    def count(self, change: Change) -> int:
        return sum(each.change == change for each in self.changes)


def answered(run: Run) -> bool:
    """Return whether *run* ended and says whom it would show."""
    return run.outcome in _ANSWERS


def standings(run: Run) -> list[Standing]:
    """Return whom *run* shows, people in clear, in its order; nobody who is erased."""
    people = {person.person: person for person in run.people}
    return [
        _standing(run, place, contact, people.get(contact.person))
        for place, contact in enumerate(run.contacts, 1)
        if contact.full_name is not None
    ]


def compared(before: Run, after: Run, who: Mapping[str, str]) -> Comparison:
    """Return what is different in *after*.

    In the order of the later run, then who left in the order of the earlier one.

    Args:
        before: The one run.
        after: The other.
        who: Whose each ``<lookup>#p1`` of either is; who is not in it is nobody else.
    """
    was = _by_person(standings(before), who)
    now = _by_person(standings(after), who)

    def told(change: Change, person: str, fields: Sequence[str] = ()) -> PersonChange:
        return PersonChange(
            change=change,
            before=before.lookup,
            after=after.lookup,
            at=after.finished_at,
            who=person if person in who.values() else None,
            changed=tuple(fields),
            was=was.get(person),
            now=now.get(person),
        )

    changes: list[PersonChange] = []
    same = 0
    for person, standing in now.items():
        if person not in was:
            changes.append(told("joined", person))
        elif fields := _changed(was[person], standing):
            changes.append(told("changed", person, fields))
        else:
            same += 1
    changes += (told("left", person) for person in was if person not in now)
    return Comparison(
        before=before.lookup, after=after.lookup, changes=tuple(changes), same=same
    )


def sealed(change: PersonChange) -> PersonChange:
    """Return *change* without what says who it is about."""
    return replace(change, was=_sealed(change.was), now=_sealed(change.now))


def one_after_another(runs: Iterable[Run]) -> Iterator[tuple[Run, Run]]:
    """Yield each of *runs* that says whom it would show, with the one before it."""
    last: Run | None = None
    for run in runs:
        if answered(run):
            if last is not None:
                yield last, run
            last = run


def lookup_stream(said: str) -> str | None:
    """Return the stream of the lookup *said*; ``None``: it is no lookup's id.

    >>> lookup_stream("brand-0a1b.3-k7f2m9qd"), lookup_stream("Nike")
    ('brand-0a1b', None)
    """
    return stream_of(said) if said.startswith("brand-") and "." in said else None


def _standing(run: Run, place: int, contact: Contact, person: RunPerson | None) -> Standing:
    ranked = None if person is None else person.ranked
    return Standing(
        person=f"{run.lookup}#{contact.person}",
        place=place,
        family=None if ranked is None else ranked.family,
        level=None if ranked is None else ranked.level,
        verified=contact.email is not None,
        name=contact.full_name,
        title=contact.title,
        company=contact.company,
        address=contact.email,
    )


def _by_person(shown: Sequence[Standing], who: Mapping[str, str]) -> dict[str, Standing]:
    """Return *shown* by who they are; of somebody who is shown twice the first counts."""
    found: dict[str, Standing] = {}
    for standing in shown:
        found.setdefault(who.get(standing.person, standing.person), standing)
    return found


def _changed(was: Standing, now: Standing) -> tuple[str, ...]:
    return tuple(field for field in _FIELDS if getattr(was, field) != getattr(now, field))


def _sealed(standing: Standing | None) -> Standing | None:
    if standing is None:
        return None
    return replace(standing, name=None, title=None, company=None, address=None)
