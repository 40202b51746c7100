"""Base classes of events and commands: each happens at a moment.

Each category of streams has its own: a module with its events, commands and state, and the
two functions ``decide(command, state) -> events`` and ``evolve(state, event) -> state``.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

#: A clock that is at most this far behind a time that is stored stands still; one that is
#: further behind goes on, since the clock that the stored time came from was wrong.
STANDS_STILL = timedelta(minutes=1)


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A fact, stored for ever: its topic is never renamed or reused, new fields have defaults.

    Attributes:
        at: When it happened; never before the event before it in its stream.
        clock: What the clock said, where `at` had to be later by more than `STANDS_STILL`;
            otherwise it is not stored.
    """

    at: datetime
    clock: datetime | UnsetType = UNSET

    @property
    def by_clock(self) -> datetime:
        """Time by the clock, also where an earlier event of its stream is from the future."""
        return self.at if self.clock is UNSET else self.clock


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A wish, which may be refused.  Never stored, so free to change.

    Attributes:
        at: When it is decided on.
    """

    at: datetime


E = TypeVar("E", bound=Event)
S = TypeVar("S", bound=msgspec.Struct)


def converted(source: msgspec.Struct, kind: type[S], **own: Any) -> S:
    """Return a *kind* with the fields of *source* that it has, too; *own* fields come first."""
    shared = set(source.__struct_fields__) & set(kind.__struct_fields__)
    return kind(**{name: getattr(source, name) for name in shared} | own)


def present(now: datetime, last_at: datetime) -> datetime:
    """Return the time that a decision about a stream goes by.

    Args:
        now: What the clock says.
        last_at: The time of the last event in the stream.
    """
    return last_at if now < last_at <= now + STANDS_STILL else now


def in_order(events: Iterable[E], last_at: datetime) -> tuple[E, ...]:
    """Return *events*, decided at their `present`, none of them before *last_at*."""
    return tuple(
        msgspec.structs.replace(event, at=last_at, clock=event.at)
        if event.at < last_at
        else event
        for event in events
    )
