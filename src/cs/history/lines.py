"""One event as one line of JSON, people left sealed: what exports are made of.

``{"position": 7, "stream": "key-…", "version": 2, "type": "key.search-settled.v1",
"at": "2026-03-01T12:00:00Z", "data": {…}}``, ``data`` as it is stored.  In place of a sealed
value stands who it is about, ``{"personal": "contact", "person": "<lookup>#p1", "who":
"person_…"}``: the one the same for everything that one lookup found out about that person, the
other over all lookups (`cs.history.identities`).  Of somebody erased there is no ``who``.
Where people are opened, what is said about them stands beside that.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cs.domain.codec import event_of, is_erased
from cs.eventlog.errors import NewerEvent
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


class ShownEvent(NamedTuple):
    """An event as it may be shown.

    Attributes:
        data: JSON: what it says, with who it is about in place of each sealed value.
    """

    event: HistoryEvent
    data: bytes

    def line(self) -> bytes:
        """Return it as a line of JSON, its end included."""
        event = self.event
        shown = EventLine(
            event.position,
            event.stream,
            event.version,
            event.topic,
            event.at,
            msgspec.Raw(self.data),
        )
        return _ENCODER.encode(shown) + b"\n"


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
            for shown in await shown_events(batch, people, keys):
                yield shown.event, shown.line()
            batch.clear()
    for shown in await shown_events(batch, people, keys):
        yield shown.event, shown.line()


def check_known(events: Iterable[HistoryEvent]) -> None:
    """Return if this version knows the types of all *events*.

    Raises:
        NewerEvent: A newer version wrote one of them, or nobody did.
    """
    for event in events:
        if event_of(event.topic) is None:
            raise NewerEvent(event.position, event.stream, event.topic)


async def shown_events(
    events: Sequence[HistoryEvent], people: Identities, keys: KeyStore | None = None
) -> list[ShownEvent]:
    """Return *events* as they may be shown; the rest is as of `event_lines`.

    People of `BATCH` events at a time are in memory in clear.
    """
    shown: list[ShownEvent] = []
    for start in range(0, len(events), BATCH):
        shown += await _shown_batch(events[start : start + BATCH], people, keys)
    return shown


async def _shown_batch(
    events: Sequence[HistoryEvent], people: Identities, keys: KeyStore | None
) -> list[ShownEvent]:
    about = {event.position: event.data() for event in events if _SEALED in event.state}
    if not about:
        return [ShownEvent(event, event.state) for event in events]
    who = await people.of({name for plain in about.values() for name in people_in(plain)})
    if keys is not None:
        keys.forget()  # of whoever was erased since
        sealed = [event for event in events if event.position in about]
        for event, plain in zip(sealed, await opened(keys, sealed), strict=True):
            if plain is not None:  # else it is damaged
                about[event.position] = plain
    return [ShownEvent(event, _data(event, about.get(event.position), who)) for event in events]


def people_in(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield who is in the stored event *plain*, ``<lookup>#p1``, once for each value."""
    lookup = str(plain.get("lookup"))
    return (key_name(lookup, value["person"]) for value in sealed_values(plain))


def _data(
    event: HistoryEvent, plain: Mapping[str, Any] | None, who: Mapping[str, str]
) -> bytes:
    """Return what *event* says.

    Args:
        event: As it is stored.
        plain: What it says, people sealed or opened; ``None`` if nobody is in it.
        who: Pseudonyms of people, ``<lookup>#p1``.
    """
    if plain is None:
        return event.state
    told = {name: value for name, value in plain.items() if name != SEALED_WITH}
    return _ENCODER.encode(_shown(told, str(event.lookup), who))


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
