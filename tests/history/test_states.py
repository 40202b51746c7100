"""Nobody is in clear in what is shown of a state."""

from functools import reduce
from typing import Any

import msgspec
import pytest

from cs.domain.personal import Personal
from cs.eventlog.categories import CATEGORIES
from cs.history.states import HIDDEN_VALUE, plain_state
from domain.golden_files import golden_events


def personal_texts(value: Any) -> set[str]:
    """Return every text within the personal values of *value*, the references aside."""
    if isinstance(value, Personal):
        fields = msgspec.to_builtins(value)
        del fields["person"], fields["personal"]
        return texts(fields)
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
