"""One event as one line of JSON, people left sealed: what exports are made of.

``{"position": 7, "stream": "key-…", "version": 2, "type": "key.search-settled.v1",
"at": "2026-03-01T12:00:00Z", "data": {…}}``, ``data`` as it is stored, but for the hash of a
key's secret.  In place of a sealed value stands who it is about, ``{"personal": "contact",
"person": "<lookup>#p1", "who": "person_…"}``: the one the same for everything that one lookup
found out about that person, the other over all lookups (`cs.history.identities`).  Of somebody
erased there is no ``who``.
Where people are opened, what is said about them stands beside that.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from cs.domain.codec import event_of, is_erased, shapes
from cs.eventlog.errors import NewerEvent
from cs.eventlog.sealing import SEALED_VALUE, SEALED_WITH, is_personal, key_name
from cs.history.history import HistoryEvent
from cs.history.identities import Identities
from cs.history.masking import HIDDEN
from cs.history.opening import opened
from cs.keystore.port import KeyStore

#: In the JSON of an event with a sealed value, and before the ids of their keys.
SEALED, _KEY_IDS = b'{"sealed":"', f',"{SEALED_WITH}":{{'.encode()
#: Events that say something that opens something.
_WITH_SECRETS = frozenset(
    topic for topic, shape in shapes().items() if HIDDEN.intersection(shape.__struct_fields__)
)


class EventLine(msgspec.Struct, frozen=True, gc=False):
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
        keys: Opens them (which is noted before: `Operator.disclose`); ``None``: they
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


def check_known(events: Sequence[HistoryEvent]) -> None:
    """Return if this version knows the types of all *events*.

    Raises:
        NewerEvent: A newer version wrote one of them, or nobody did.
    """
    unknown = {each for each in {event.topic for event in events} if event_of(each) is None}
    for event in events if unknown else ():
        if event.topic in unknown:
            raise NewerEvent(event.position, event.stream, event.topic)


async def shown_events(
    events: Sequence[HistoryEvent], people: Identities, keys: KeyStore | None = None
) -> list[ShownEvent]:
    """Return *events*, all in memory at once, as they may be shown; else as `event_lines`."""
    texts = {e.position: SealedText(e) for e in events if SEALED in e.state}
    names = {name: name.decode() for text in texts.values() for name in text.names}
    who = await people.of(names.values()) if names else {}
    about = {name: _told(said, who) for name, said in names.items()}
    told = {position: text.told(about) for position, text in texts.items()}
    if keys is not None:
        told.update(await _in_clear(events, who, keys))
    return [
        ShownEvent(event, told.get(event.position) or _without_secrets(event))
        for event in events
    ]


async def _in_clear(
    events: Sequence[HistoryEvent], who: Mapping[str, str], keys: KeyStore
) -> dict[int, bytes]:
    """Return by position what those of *events* say that hold people and are not damaged."""
    keys.forget()  # of whoever was erased since
    sealed = [event for event in events if SEALED in event.state]
    pairs = zip(sealed, await opened(keys, sealed), strict=True)
    return {
        event.position: _with_people(state, str(event.lookup), who)
        for event, state in pairs
        if state is not None
    }


class SealedText:
    """The JSON of an event, taken apart where people are sealed in it.

    Attributes:
        names: Who they are, ``<lookup>#p1``, once for each value.
    """

    def __init__(self, event: HistoryEvent) -> None:
        self._parts = SEALED_VALUE.split(event.state)  # text, kind, person, box, text, …
        lookup = key_name(str(event.lookup), "").encode()
        self.names = [lookup + person for person in self._parts[2::4]]

    def told(self, about: Mapping[bytes, bytes]) -> bytes:
        """Return it with who they are about in the place of the values.

        Args:
            about: By name what stands there, but for the kind of the value (`_told`).
        """
        parts = self._parts
        parts[1::4] = [b'{"personal":"' + kind for kind in parts[1::4]]
        parts[2::4] = [about[name] for name in self.names]
        del parts[3::4]
        return _without_key_ids(b"".join(parts))


def _told(name: str, who: Mapping[str, str]) -> bytes:
    """Return the rest of a JSON object that begins with a kind: whom the value is about."""
    return b'",' + _ENCODER.encode(_about(name, who))[1:]


def _without_key_ids(state: bytes) -> bytes:
    """Return *state* without the ids of the keys that its people are sealed with."""
    start = state.rfind(_KEY_IDS)
    if start < 0:
        return state
    return state[:start] + state[state.index(b"}", start) + 1 :]


def _without_secrets(event: HistoryEvent) -> bytes:
    """Return what *event*, without people, says; not what opens something."""
    if event.topic not in _WITH_SECRETS:
        return event.state
    return _ENCODER.encode({n: said for n, said in event.data().items() if n not in HIDDEN})


def _with_people(state: bytes, lookup: str, who: Mapping[str, str]) -> bytes:
    """Return *state*, its people in clear, with who they are beside what is said of them."""
    return _ENCODER.encode(_named(msgspec.json.decode(_without_key_ids(state)), lookup, who))


def _named(value: Any, lookup: str, who: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        if is_personal(value):
            about = _about(key_name(lookup, value["person"]), who)
            said = {"personal": value["personal"]} if is_erased(value) else value
            return {**said, **about}
        return {name: _named(inner, lookup, who) for name, inner in value.items()}
    if isinstance(value, list):
        return [_named(inner, lookup, who) for inner in value]
    return value


def _about(name: str, who: Mapping[str, str]) -> dict[str, str]:
    return {"person": name, "who": who[name]} if name in who else {"person": name}
