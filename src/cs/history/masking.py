"""States as JSON, nobody in clear."""

from collections.abc import Mapping
from typing import Any

import msgspec

from cs.domain.brand.brand import Brand
from cs.eventlog.sealing import key_name

#: Fields that open something, or say who somebody is to a caller: never shown.
HIDDEN = frozenset({"secret_hash"})
HIDDEN_VALUE = "(hidden)"


def people_of(state: Any) -> Mapping[str, str]:
    """Return who is in *state*, that of any stream: by ``p1``, their ``<lookup>#p1``.

    They are in the live run of a brand; nobody is in any other state.
    """
    live = state.live if isinstance(state, Brand) else None
    if live is None:
        return {}
    return {each.person: key_name(live.id, each.person) for each in live.people}


def plain_state(state: Any, who: Mapping[str, str] | None = None) -> Any:
    """Return *state*, or any part of one, as JSON values.

    Of a personal value only its kind and who it is about are left.

    Args:
        state: Of any stream.
        who: Pseudonyms over all lookups, by ``<lookup>#p1`` (`people_of`).

    >>> from cs.domain.contact import Person
    >>> plain_state({"people": [Person(person="p1", full_name="Jane Roe")]})
    {'people': [{'personal': 'person', 'person': 'p1'}]}
    """
    names = people_of(state).items() if who else ()
    there = {person: who[name] for person, name in names if who and name in who}
    return _masked(msgspec.to_builtins(state, str_keys=True), there)


def _masked(value: Any, who: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        if "personal" in value and "person" in value:
            about = {"personal": value["personal"], "person": value["person"]}
            pseudonym = who.get(value["person"])
            return about if pseudonym is None else {**about, "who": pseudonym}
        return {
            name: HIDDEN_VALUE if name in HIDDEN and inner is not None else _masked(inner, who)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_masked(inner, who) for inner in value]
    return value
