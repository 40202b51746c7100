"""States as JSON, with people hidden."""

from typing import Any

import msgspec

#: Fields that open something: never shown.
HIDDEN = frozenset({"secret_hash"})
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
