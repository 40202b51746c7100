"""Comparison of two live runs of a brand: people who joined, left or changed.  Pure.

The contacts of each run are compared, as callers get them.  The caller says which of them are
the same person (`cs.history.identities`).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

import msgspec

from cs.history.runs import Run

Change = Literal["joined", "left", "changed"]

#: Outcomes of runs that have an answer; the others are failures.
_ANSWERS = frozenset({"done", "no_emails", "no_contacts"})
#: Fields that are compared of a person who is in both runs, in this order.
_FIELDS = ("title", "family", "level", "address", "company")
#: Fields that are hidden unless people are revealed.
_PERSONAL = ("name", "title", "company", "address")


class PersonChange(msgspec.Struct, frozen=True, kw_only=True):
    """A person that the later run shows differently.

    Attributes:
        before, after: The two runs.
        at: When the later one ended.
        who: The person's pseudonym over all runs; ``None``: not known.
        changed: The changed fields, of title, family, level, address and company.
        was, now: How each run shows them (`shown`); ``None``: it does not.
    """

    change: Change
    before: str
    after: str
    at: datetime | None
    who: str | None
    changed: tuple[str, ...] = ()
    was: Mapping[str, Any] | None = None
    now: Mapping[str, Any] | None = None


def shown(run: Run) -> list[dict[str, Any]]:
    """Return the people that *run* shows, in its order and in clear, without erased ones."""
    found = []
    for place, contact in enumerate(run.contacts, 1):
        person = run.find(contact.person)
        ranked = None if person is None else person.ranked
        if contact.full_name is not None:
            found.append(
                {
                    "person": f"{run.lookup}#{contact.person}",
                    "place": place,
                    "family": None if ranked is None else ranked.family,
                    "level": None if ranked is None else ranked.level,
                    "verified": contact.email is not None,
                    "name": contact.full_name,
                    "title": contact.title,
                    "company": contact.company,
                    "address": contact.email,
                }
            )
    return found


def compared(
    before: Run, after: Run, who: Mapping[str, str], *, reveals: bool
) -> tuple[list[PersonChange], int]:
    """Return the differences in *after*, and the number of people without any.

    In the order of the later run, then who left in the order of the earlier one.  *who* has
    the pseudonym of each ``<lookup>#p1`` of either; a person without one is the same as no
    other.  Names, titles, companies and addresses are in a change if it *reveals* them.
    """
    was, now = _by_person(before, who), _by_person(after, who)
    known, changes = set(who.values()), []
    for person in [*now, *(each for each in was if each not in now)]:
        old, new = was.get(person), now.get(person)
        fields = () if old is None or new is None else _changed(old, new)
        if old is not None and new is not None and not fields:
            continue
        change: Change = "joined" if old is None else "left" if new is None else "changed"
        changes.append(
            PersonChange(
                change=change,
                before=before.lookup,
                after=after.lookup,
                at=after.finished_at,
                who=person if person in known else None,
                changed=fields,
                was=old if reveals else _hidden(old),
                now=new if reveals else _hidden(new),
            )
        )
    return changes, len(now) - sum(each.change != "left" for each in changes)


def one_after_another(runs: Iterable[Run]) -> Iterable[tuple[Run, Run]]:
    """Return each of *runs* that has an answer, with the one before it."""
    return pairwise(run for run in runs if run.outcome in _ANSWERS)


def _by_person(run: Run, who: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Return the people that *run* shows, by pseudonym; the first place of each counts."""
    found: dict[str, dict[str, Any]] = {}
    for each in shown(run):
        found.setdefault(who.get(each["person"], each["person"]), each)
    return found


def _changed(was: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(field for field in _FIELDS if was[field] != now[field])


def _hidden(one: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return None if one is None else {**one, **dict.fromkeys(_PERSONAL)}
