"""One event as one line of JSON, people left sealed: what exports are made of.

``{"position": 7, "stream": "key-…", "version": 2, "type": "key.search-settled.v1",
"at": "2026-03-01T12:00:00Z", "data": {…}}``, ``data`` as it is stored.  In place of a sealed
value stands who it is about, ``{"personal": "contact", "person": "<lookup>#p1", "who":
"person_…"}``: the one the same for everything that one lookup found out about that person, the
other over all lookups (`cs.history.identities`).  Of somebody erased there is no ``who``.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cs.eventlog.sealing import SEALED_WITH, is_sealed, key_name, sealed_values
from cs.history.history import HistoryEvent
from cs.history.identities import Identities

_SEALED = b'"sealed"'


class EventLine(msgspec.Struct, frozen=True):
    position: int
    stream: str
    version: int
    type: str
    at: Any
    data: Any


_ENCODER = msgspec.json.Encoder()


#: Events whose people are asked for at once.
BATCH = 500


async def event_lines(
    events: AsyncIterator[HistoryEvent], people: Identities
) -> AsyncIterator[tuple[HistoryEvent, bytes]]:
    """Yield *events* with their lines of JSON, each with its end.

    Raises:
        LogUnavailable: Log or key store cannot be read now.
    """
    batch: list[HistoryEvent] = []
    async for event in events:
        batch.append(event)
        if len(batch) == BATCH:
            for line in await _lines(batch, people):
                yield line
            batch.clear()
    for line in await _lines(batch, people):
        yield line


async def _lines(
    events: Sequence[HistoryEvent], people: Identities
) -> list[tuple[HistoryEvent, bytes]]:
    """Return *events* with their lines."""
    plain = [event.data() if _SEALED in event.state else None for event in events]
    names = {name for each in plain if each is not None for name in people_in(each)}
    who = await people.of(names) if names else {}
    return [
        (event, event_line(event, each, who)) for event, each in zip(events, plain, strict=True)
    ]


def people_in(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield who is in the stored event *plain*, ``<lookup>#p1``, once for each value."""
    lookup = str(plain.get("lookup"))
    return (key_name(lookup, value["person"]) for value in sealed_values(plain))


def event_line(
    event: HistoryEvent, plain: Mapping[str, Any] | None, who: Mapping[str, str]
) -> bytes:
    """Return *event* as a line of JSON, its end included.

    Args:
        event: As it is stored.
        plain: What it says; ``None`` if nobody is in it.
        who: Pseudonyms of people, ``<lookup>#p1``.
    """
    data: Any = msgspec.Raw(event.state)
    if plain is not None:
        told = {name: value for name, value in plain.items() if name != SEALED_WITH}
        data = _without_boxes(told, str(event.lookup), who)
    shown = EventLine(event.position, event.stream, event.version, event.topic, event.at, data)
    return _ENCODER.encode(shown) + b"\n"


def _without_boxes(value: Any, lookup: str, who: Mapping[str, str]) -> Any:
    """Return *value* with who it is about in place of each sealed value."""
    if isinstance(value, dict):
        if is_sealed(value):
            return _about(value["sealed"], key_name(lookup, value["person"]), who)
        return {name: _without_boxes(inner, lookup, who) for name, inner in value.items()}
    if isinstance(value, list):
        return [_without_boxes(inner, lookup, who) for inner in value]
    return value


def _about(personal: str, name: str, who: Mapping[str, str]) -> dict[str, str]:
    about = {"personal": personal, "person": name}
    return {**about, "who": who[name]} if name in who else about
