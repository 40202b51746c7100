"""Nobody is in clear in what is shown of a state, and what changed is named."""

from functools import reduce
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cs.domain.personal import Personal
from cs.eventlog.categories import CATEGORIES
from cs.history.changes import changes
from cs.history.masking import HIDDEN_VALUE, plain_state
from domain.golden_files import golden_events

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=8,
)


def personal_texts(value: Any) -> set[str]:
    """Return every text within the personal values of *value*, the references aside."""
    if isinstance(value, Personal):
        fields = msgspec.structs.asdict(value)
        del fields["person"]
        return texts(msgspec.to_builtins(fields))
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple | frozenset):
        return {text for inner in value for text in personal_texts(inner)}
    return set()


def texts(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        value = list(value.values())
    return (
        {text for inner in value for text in texts(inner)} if isinstance(value, list) else set()
    )


@pytest.mark.parametrize("category", CATEGORIES)
def test_no_state_and_no_event_shows_anybody(category: str) -> None:
    known = CATEGORIES[category]
    events = golden_events(category)
    states = [reduce(known.evolve, events[:n], known.initial) for n in range(len(events) + 1)]

    for value in [*events, *states]:
        shown = msgspec.json.encode(plain_state(value)).decode()
        # Names, headlines and addresses: a mail domain stands in events openly, too.
        told = {text for text in personal_texts(value) if " " in text or "@" in text}
        assert not [text for text in told if text in shown]
    assert category != "brand" or any(map(personal_texts, events)), "somebody has to be in them"


def test_hashes_of_secrets_are_hidden() -> None:
    events = golden_events("key")

    shown = plain_state(reduce(CATEGORIES["key"].evolve, events, CATEGORIES["key"].initial))

    assert shown["secret_hash"] == HIDDEN_VALUE
    assert plain_state(CATEGORIES["key"].initial)["secret_hash"] is None


@given(PLAIN, PLAIN)
def test_changes_are_none_exactly_if_nothing_is_different(before: Any, after: Any) -> None:
    found = list(changes({"it": before}, {"it": after}))

    assert len({change.field for change in found}) == len(found)
    assert all(change.before != change.after for change in found)
    if before == after:
        assert found == []
    elif not (isinstance(before, dict) and isinstance(after, dict)):
        assert [(change.before, change.after) for change in found] == [(before, after)]


@given(st.dictionaries(st.sampled_from("xyz"), PLAIN))
def test_changes_lead_from_the_one_to_the_other(after: dict[str, Any]) -> None:
    applied: dict[str, Any] = {}

    for change in changes({}, after):
        *path, last = change.field.split(".")
        place = applied
        for name in path:
            place = place.setdefault(name, {})
        place[last] = change.after

    assert applied == without_nothing(after)


def without_nothing(value: Any) -> Any:
    """Return *value* without fields of objects that say nothing: they are no change."""
    if not isinstance(value, dict):
        return value
    return {name: inner for name, inner in value.items() if inner is not None}
