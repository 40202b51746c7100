"""One person who asked to be forgotten.

Stream category ``person``; one stream per person, ``person-<keyed hash>``.  The hash
is made outside the domain with a key that is not in the log, so the stream's name
says nothing about who it is.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import reduce
from typing import assert_never

import msgspec
from msgspec.structs import replace


class Event(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime


class PersonErased(Event, frozen=True, kw_only=True):
    """The data keys of this person in these lookups are destroyed."""

    found_in: tuple[str, ...]  # "<lookup>#<person>"


class PersonSuppressed(Event, frozen=True, kw_only=True):
    """No later search may bring this person back."""


PersonEvent = PersonErased | PersonSuppressed


class Command(msgspec.Struct, frozen=True, kw_only=True):
    at: datetime


class ErasePerson(Command, frozen=True, kw_only=True):
    found_in: tuple[str, ...]


PersonCommand = ErasePerson


class Person(msgspec.Struct, frozen=True):
    suppressed: bool = False
    erased_from: frozenset[str] = frozenset()
    last_at: datetime = datetime.min.replace(tzinfo=UTC)


INITIAL = Person()


def decide(command: PersonCommand, state: Person) -> tuple[PersonEvent, ...]:
    """Return the events *command* causes; ``()`` if there is nothing new to say."""
    at = max(command.at, state.last_at)
    new = tuple(sorted(set(command.found_in) - state.erased_from))
    erased = (PersonErased(found_in=new, at=at),) if new else ()
    suppressed = () if state.suppressed else (PersonSuppressed(at=at),)
    return (*erased, *suppressed)


def evolve(state: Person, event: PersonEvent) -> Person:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case PersonErased(found_in=found_in):
            return replace(state, erased_from=state.erased_from | set(found_in))
        case PersonSuppressed():
            return replace(state, suppressed=True)
        case _:
            assert_never(event)


def fold(events: Iterable[PersonEvent], state: Person = INITIAL) -> Person:
    """Rebuild what is remembered of a person's wish from its stream."""
    return reduce(evolve, events, state)
