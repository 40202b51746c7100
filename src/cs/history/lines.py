"""One event as one line of JSON, people left sealed: what exports are made of.

``{"position": 7, "stream": "key-…", "version": 2, "type": "key.search-settled.v1",
"at": "2026-03-01T12:00:00Z", "data": {…}}``, ``data`` as it is stored.  In place of a sealed
value stands who it is about, ``{"personal": "contact", "person": "<lookup>#p1", "who":
"person_…"}``: the one the same for everything that one lookup found out about that person, the
other over all lookups (`cs.history.identities`).  Of somebody erased there is no ``who``.
Where people are opened, what is said about them stands beside that.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from cs.domain.codec import is_erased
from cs.eventlog.sealing import SEALED_WITH, is_personal, is_sealed, key_name, sealed_values
from cs.history.history import HistoryEvent
from cs.history.identities import Identities
from cs.history.opening import opened
from cs.keystore.port import KeyStore

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
    events: AsyncIterator[HistoryEvent], people: Identities, keys: KeyStore | None = None
) -> AsyncIterator[tuple[HistoryEvent, bytes]]:
    """Yield *events* with their lines of JSON, each with its end.

    Args:
        events: In order.
        people: Tells the people in them apart.
        keys: Opens them (which is noted before: `cs.operations.disclosing`); ``None``: they
            stay sealed.

    Raises:
        LogUnavailable: Log or key store cannot be read now.
    """
    batch: list[HistoryEvent] = []
    async for event in events:
        batch.append(event)
        if len(batch) == BATCH:
            for line in await _lines(batch, people, keys):
                yield line
            batch.clear()
    for line in await _lines(batch, people, keys):
        yield line


async def _lines(
    events: Sequence[HistoryEvent], people: Identities, keys: KeyStore | None
) -> list[tuple[HistoryEvent, bytes]]:
    """Return *events* with their lines."""
    about = {event.position: event.data() for event in events if _SEALED in event.state}
    names = {name for plain in about.values() for name in people_in(plain)}
    who = await people.of(names) if names else {}
    if keys is not None and about:
        keys.forget()  # of whoever was erased since
        sealed = [event for event in events if event.position in about]
        for event, plain in zip(sealed, await opened(keys, sealed), strict=True):
            if plain is not None:  # else it is damaged
                about[event.position] = plain
    return [(event, event_line(event, about.get(event.position), who)) for event in events]


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
        plain: What it says, people sealed or opened; ``None`` if nobody is in it.
        who: Pseudonyms of people, ``<lookup>#p1``.
    """
    data: Any = msgspec.Raw(event.state)
    if plain is not None:
        told = {name: value for name, value in plain.items() if name != SEALED_WITH}
        data = _shown(told, str(event.lookup), who)
    shown = EventLine(event.position, event.stream, event.version, event.topic, event.at, data)
    return _ENCODER.encode(shown) + b"\n"


def _shown(value: Any, lookup: str, who: Mapping[str, str]) -> Any:
    """Return *value* with who it is about in place of each sealed value, or in each opened."""
    if isinstance(value, dict):
        if is_sealed(value):
            return _about(value["sealed"], key_name(lookup, value["person"]), who)
        shown = {name: _shown(inner, lookup, who) for name, inner in value.items()}
        if is_personal(value):
            about = _about(value["personal"], key_name(lookup, value["person"]), who)
            return about if is_erased(value) else {**shown, **about}
        return shown
    if isinstance(value, list):
        return [_shown(inner, lookup, who) for inner in value]
    return value


def _about(personal: str, name: str, who: Mapping[str, str]) -> dict[str, str]:
    about = {"personal": personal, "person": name}
    return {**about, "who": who[name]} if name in who else about
