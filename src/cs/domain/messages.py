"""What every event and every command is: something at a moment.

Each category of streams has its own: a module with its events, commands and state, and the
two functions ``decide(command, state) -> events`` and ``evolve(state, event) -> state``.
"""

from datetime import datetime

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A fact, stored for ever: its topic is never renamed or reused, new fields have defaults.

    Attributes:
        at: When it happened; never before the event before it in its stream.
    """

    at: datetime


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A wish, which may be refused.  Never stored, so free to change.

    Attributes:
        at: When it is decided on.
    """

    at: datetime
