"""One person who asked to be forgotten.

Stream category ``person``; one stream per person, ``person-<keyed hash>``.  The hash
is made outside the domain with a key that is not in the log, so the stream's name
says nothing about who it is.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import assert_never

import msgspec
from msgspec.structs import replace

from cs.domain.messages import Command, Event


class PersonErased(Event, frozen=True, kw_only=True):
    """The data keys of this person in these lookups are destroyed."""

    found_in: tuple[str, ...]  # "<lookup>#<person>"
    by: str | None = None  # account or label of the operator


class PersonSuppressed(Event, frozen=True, kw_only=True):
    """No later search may bring this person back.

    Attributes:
        prints: Keyed hashes of what this person is known by, those not said before.
    """

    prints: tuple[str, ...] = ()
    by: str | None = None


class SuppressionLifted(Event, frozen=True, kw_only=True):
    """Later searches may find this person again; what was erased stays erased."""

    by: str | None = None


PersonEvent = PersonErased | PersonSuppressed | SuppressionLifted

#: Topics of stored events: never renamed or reused.
EVENT_TOPICS: Mapping[str, type[PersonEvent]] = {
    "person.erased.v1": PersonErased,
    "person.suppressed.v1": PersonSuppressed,
    "person.suppression-lifted.v1": SuppressionLifted,
}


class SuppressPerson(Command, frozen=True, kw_only=True):
    prints: tuple[str, ...] = ()
    by: str | None = None


class ErasePerson(Command, frozen=True, kw_only=True):
    found_in: tuple[str, ...]
    by: str | None = None


class LiftSuppression(Command, frozen=True, kw_only=True):
    """The person was suppressed by mistake."""

    by: str | None = None


PersonCommand = SuppressPerson | ErasePerson | LiftSuppression


class PersonState(msgspec.Struct, frozen=True):
    """State of one person: suppressed or not, and erased from which lookups."""

    suppressed: bool = False
    prints: frozenset[str] = frozenset()
    erased_from: frozenset[str] = frozenset()
    last_at: datetime = datetime.min.replace(tzinfo=UTC)


INITIAL = PersonState()


def decide(command: PersonCommand, state: PersonState) -> tuple[PersonEvent, ...]:
    """Return the events *command* causes; ``()`` if there is nothing new to say."""
    at = max(command.at, state.last_at)
    match command:
        case SuppressPerson(prints=prints, by=by):
            unsaid = tuple(sorted(set(prints) - state.prints))
            if state.suppressed and not unsaid:
                return ()
            return (PersonSuppressed(prints=unsaid, by=by, at=at),)
        case ErasePerson(found_in=found_in, by=by):
            new = tuple(sorted(set(found_in) - state.erased_from))
            erased = (PersonErased(found_in=new, by=by, at=at),) if new else ()
            suppressed = () if state.suppressed else (PersonSuppressed(by=by, at=at),)
            return (*erased, *suppressed)
        case LiftSuppression(by=by):
            return (SuppressionLifted(by=by, at=at),) if state.suppressed else ()
        case _:
            assert_never(command)


def evolve(state: PersonState, event: PersonEvent) -> PersonState:
    """Return *state* after *event*.  Never raises: what happened, happened."""
    state = replace(state, last_at=event.at)
    match event:
        case PersonErased(found_in=found_in):
            return replace(state, erased_from=state.erased_from | set(found_in))
        case PersonSuppressed(prints=prints):
            return replace(state, suppressed=True, prints=state.prints | set(prints))
        case SuppressionLifted():
            # Suppressed again, every fingerprint is said again.
            return replace(state, suppressed=False, prints=frozenset())
        case _:
            assert_never(event)
