"""States of streams as JSON with people hidden, and the difference between two of them."""

from collections.abc import Iterator
from typing import Any

import msgspec

#: Fields that open something: never shown.
HIDDEN = frozenset({"secret_hash", "old_secret_hash", "token_hash"})
HIDDEN_VALUE = "(hidden)"


def plain_state(state: Any) -> Any:
    """Return *state*, or any part of one, as JSON values.

    Of a personal value only its kind and who it is about are left.

    >>> from cs.domain.contact import Person
    >>> plain_state({"people": [Person(person="p1", full_name="Jane Roe")]})
    {'people': [{'personal': 'person', 'person': 'p1'}]}
    """
    return _masked(msgspec.to_builtins(state, str_keys=True))


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        if "personal" in value and "person" in value:
            return {"personal": value["personal"], "person": value["person"]}
        return {
            name: HIDDEN_VALUE if name in HIDDEN and inner is not None else _masked(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(inner) for inner in value]
    return value


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
