"""Nobody is in clear in what is shown of a state."""

from typing import Any

import msgspec
import pytest

from cs.domain.personal import Personal
from cs.eventlog.port import NO_STREAM, Append
from cs.history.history import History
from cs.history.states import HIDDEN_VALUE, plain_state
from domain.golden_files import NAMES, golden_events
from harness.memory_keys import MemoryKeyStore
from harness.memory_log import MemoryEventLog


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


async def states_of(category: str) -> list[Any]:
    """Return each golden event of *category*, and the state that it makes."""
    log = MemoryEventLog(MemoryKeyStore())
    stream = "service" if category == "service" else f"{category}-1"
    await log.append([Append(stream, NO_STREAM, golden_events(category))])
    made = [each async for each in History(log).states(stream)]
    return [*(event.event for event, _ in made), *(state.state for _, state in made)]


@pytest.mark.parametrize("category", sorted({name.split(".")[0] for name in NAMES}))
async def test_no_state_and_no_event_shows_anybody(category: str) -> None:
    found = await states_of(category)

    for value in found:
        shown = msgspec.json.encode(plain_state(value)).decode()
        # Names, headlines and addresses: a mail domain stands in events openly, too.
        told = {text for text in personal_texts(value) if " " in text or "@" in text}
        assert not [text for text in told if text in shown]
        assert HIDDEN_VALUE in shown or "secret_hash" not in shown
    assert category != "brand" or any(map(personal_texts, found)), "somebody has to be in them"
    assert category != "key" or any(hasattr(each, "secret_hash") for each in found)
