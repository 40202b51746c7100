"""What an event changed: two states of a stream, field by field."""

from collections.abc import Iterator
from typing import Any

import msgspec


class Change(msgspec.Struct, frozen=True):
    """One field that is not what it was.

    Attributes:
        field: Its path: ``live.people``.
        before: As JSON; `None` also if it was not there.
        after: As JSON; `None` also if it is not there any more.
    """

    field: str
    before: Any
    after: Any


def changes(before: Any, after: Any, field: str = "") -> Iterator[Change]:
    """Yield what is different in *after*, two JSON values, in the order of the fields.

    Objects are compared field by field, lists as a whole.

    >>> [*changes({"used": 1, "run": {"a": 1, "b": 2}}, {"used": 1, "run": {"a": 3, "b": 2}})]
    [Change(field='run.a', before=1, after=3)]
    """
    if isinstance(before, dict) and isinstance(after, dict):
        for name in {**before, **after}:
            path = f"{field}.{name}" if field else str(name)
            yield from changes(before.get(name), after.get(name), path)
    elif before != after:
        yield Change(field, before, after)
