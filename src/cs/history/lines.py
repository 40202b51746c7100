"""Events as lines of JSON, with people sealed: the lines of exports.

``{"position": 7, "stream": "key-…", "version": 2, "type": "key.search-settled.v1",
"at": "2026-03-01T12:00:00Z", "data": {…}}``, ``data`` as it is stored, but for the hash of a
key's secret.  In place of a sealed value stands a reference to its person, ``{"personal":
"contact", "person": "<lookup>#p1", "who": "person_…"}``: ``person`` within one lookup, ``who``
over all lookups (`cs.history.identities`).  An erased person has no ``who``.  If people are
revealed, the fields of the value are added to the reference.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from msgspec.structs import replace

from cs.domain.codec import event_of, is_erased, shapes
from cs.eventlog.mapper import SEALED, held_keys
from cs.eventlog.port import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.sealing import (
    SEALED_WITH,
    HeldKeys,
    KeyReference,
    key_references,
    open_box,
    people_in,
    with_values,
)
from cs.history.history import UNREADABLE, HistoryEvent
from cs.history.identities import Identities
from cs.history.states import HIDDEN
from cs.keystore.lost import LostValue
from cs.keystore.port import KeyStore, KeysUnavailable

#: Fields of a stored event that are not shown.
_NOT_SHOWN = HIDDEN | {SEALED_WITH}
#: Types of events with a field that opens something.
_WITH_SECRETS = frozenset(
    topic for topic, shape in shapes().items() if HIDDEN.intersection(shape.__struct_fields__)
)


class ShownEvent(msgspec.Struct, frozen=True, gc=False):
    """An event as it may be shown.

    Attributes:
        data: JSON: its data, with a reference to the person in place of each sealed value.
    """

    position: int
    stream: str
    version: int
    type: str
    at: datetime
    data: msgspec.Raw

    def line(self) -> bytes:
        """Return it as a line of JSON, its end included."""
        return msgspec.json.encode(self) + b"\n"


def check_known(events: Sequence[HistoryEvent]) -> None:
    """Return if this version knows the types of all *events*.

    Raises:
        NewerEvent: A newer version wrote one of them.
    """
    for event in events:
        if event_of(event.topic) is None:
            raise NewerEvent(event.position, event.stream, event.topic)


async def shown_events(
    events: Sequence[HistoryEvent], people: Identities, keys: KeyStore | None = None
) -> list[ShownEvent]:
    """Return *events*, all in memory at once, as they may be shown.

    *keys* open the people in them (which is noted before: `Operator.disclose`); without, they
    stay sealed.

    Raises:
        LogUnavailable: Log or key store cannot be read now.
        DamagedEvent: One of them is not what was stored.
    """
    sealed = {each.position: _plain(each) for each in events if SEALED in each.state}
    names = {name for plain in sealed.values() for name in people_in(plain)}
    who = await people.of(names) if names else {}
    held, lost = None, list[LostValue]()
    if keys is not None:
        keys.forget()  # of people who were erased since
        try:
            needs = (need for plain in sealed.values() for need in key_references(plain))
            held = await held_keys(keys, needs)
        except KeysUnavailable as error:
            raise LogUnavailable(f"the data keys could not be read: {error}") from error
    found = [_shown(each, sealed.get(each.position), who, held, lost) for each in events]
    if keys is not None:
        keys.lost.note(lost)
    return found


def _plain(event: HistoryEvent) -> dict[str, Any]:
    try:
        return msgspec.json.decode(event.state, type=dict[str, Any])
    except UNREADABLE as error:
        raise DamagedEvent.of(*event[:3], error) from error


def _shown(
    event: HistoryEvent,
    plain: dict[str, Any] | None,
    who: Mapping[str, str],
    held: HeldKeys | None,
    lost: list[LostValue],
) -> ShownEvent:
    """Return *event* as it may be shown; *plain* is its data, if people are in it.

    Without the keys *held* they stay sealed; values whose key is lost are added to *lost*.
    """

    def note(value: LostValue) -> None:
        lost.append(replace(value, position=event.position, stream=event.stream))

    def put(need: KeyReference, sealed: dict[str, Any]) -> dict[str, Any]:
        value = {"personal": sealed["sealed"]}
        if held is not None:
            with suppress(InvalidTag, ValueError):  # a damaged value hides no other
                said = msgspec.json.decode(open_box(need, sealed["box"], held, note) or b"null")
                value = value if said is None or is_erased(said) else said
        about = {"person": need.name, "who": who.get(need.name)}
        return value | {name: said for name, said in about.items() if said}

    data = event.state
    if plain is not None or event.topic in _WITH_SECRETS:
        fields = event.data() if plain is None else with_values(plain, put)
        kept = {name: said for name, said in fields.items() if name not in _NOT_SHOWN}
        data = msgspec.json.encode(kept)
    position, stream, version, topic, _, at, _ = event
    return ShownEvent(position, stream, version, topic, at, msgspec.Raw(data))
