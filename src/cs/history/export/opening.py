"""What is sealed in a page of events, opened in memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from msgspec.structs import replace

from cs.domain.brand import events as brand
from cs.domain.codec import ALSO_READ, AnyEvent, encode, event_of
from cs.domain.person import PersonErased
from cs.domain.personal import Personal
from cs.eventlog.errors import LogUnavailable, NewerEvent
from cs.eventlog.key_cache import held_keys
from cs.eventlog.mapper import TOPIC, DataKeys, EventMapper
from cs.eventlog.sealing import (
    HeldKeys,
    KeyReference,
    key_name,
    key_references,
    open_box,
)
from cs.history.export.stored_shapes import sealed_decoder
from cs.history.history import HistoryEvent, damaged
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue

P = TypeVar("P", bound=Personal)

#: By event, the fields with people that are opened: of these alone something is written that
#: is not personal.
OPENED: dict[type[AnyEvent], str] = {
    brand.PeopleFound: "people",
    brand.ContactsDiscovered: "people",
    brand.MailboxVerified: "checked",
    brand.MailboxNotVerified: "checked",
}
#: And where people are revealed.
REVEALED = OPENED | {brand.ContactsRanked: "ranked"}
#: After these, data keys in memory may be destroyed ones.
_FORGETTING = (PersonErased, brand.ContactsErased)
DAMAGED = (msgspec.MsgspecError, InvalidTag, ValueError, TypeError, RecursionError)


class ReadEvent(NamedTuple):
    """An event, and what it says.

    Attributes:
        kind: What it is today.
        said: As its `cs.history.export.stored_shapes.sealed_shape`.
    """

    event: HistoryEvent
    kind: type[AnyEvent]
    said: Any


class Said(NamedTuple, Generic[P]):
    """What an event says about somebody.

    Attributes:
        person: ``p1``, ``p2``, …
        value: ``None``: nothing can be read.
        erased: Because nothing of them is kept; else their key is lost.
    """

    person: str
    value: P | None
    erased: bool = False


class Value(msgspec.Struct):
    """A personal value as it is stored; without a box it is in clear."""

    person: str
    box: str | None = None


class OpenPage:
    """The events of a page, and what opens their people.

    Attributes:
        events: In order.
        lost: Values that could not be opened because their key is lost.
    """

    def __init__(self, events: Sequence[ReadEvent], held: HeldKeys) -> None:
        self.events = events
        self.lost: list[LostValue] = []
        self._held = held

    def people(self, read: ReadEvent, raw: bytes, shape: type[P]) -> Iterator[Said[P]]:
        """Yield what *raw*, a list of values in the event *read*, says about each person."""
        values = _values(raw)
        if any(value.box is None for value in values):
            clear: list[P] = msgspec.json.decode(raw, type=list[shape])  # type: ignore[valid-type]
            yield from (Said(each.person, each) for each in clear)
            return
        lookup, ids = read.said.lookup, read.said.sealed_with
        for value in values:
            assert value.box is not None
            need = KeyReference(key_name(lookup, value.person), ids.get(value.person))
            lost = len(self.lost)
            plain = open_box(need, value.box, self._held, self._note(read.event))
            if plain is None:
                yield Said(value.person, None, erased=lost == len(self.lost))
            else:
                yield Said(value.person, msgspec.json.decode(plain, type=shape))

    def person(self, read: ReadEvent, raw: bytes, shape: type[P]) -> Said[P]:
        """Return what `people` yields, of *raw*, one value."""
        return next(self.people(read, b"[" + bytes(raw) + b"]", shape))

    def _note(self, event: HistoryEvent) -> Any:
        def note(lost: LostValue) -> None:
            self.lost.append(replace(lost, position=event.position, stream=event.stream))

        return note


def _values(raw: bytes) -> list[Value]:
    return msgspec.json.decode(raw, type=list[Value])


def people_named(raw: bytes) -> list[str]:
    """Return the people of *raw*, a list of personal values; none of them is opened."""
    return [value.person for value in _values(raw)]


async def open_page(
    keys: DataKeys, page: Iterable[HistoryEvent], *, reveal: bool = False
) -> OpenPage:
    """Return *page* read, with the data keys of those who are to be opened.

    Raises:
        NewerEvent: A newer version wrote one of them.
        DamagedEvent: One of them cannot be read.
        LogUnavailable: The data keys cannot be read now.
    """
    fields = REVEALED if reveal else OPENED
    read: list[ReadEvent] = []
    wanted: set[KeyReference] = set()
    forget = False
    try:
        for event in page:
            each = await _read(keys, event)
            read.append(each)
            forget = forget or each.kind in _FORGETTING
            if (field := fields.get(each.kind)) is not None:
                wanted.update(_needed(each, getattr(each.said, field)))
        if forget:
            keys.forget()
        held = await held_keys(keys, wanted)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error
    return OpenPage(read, held)


async def _read(keys: DataKeys, event: HistoryEvent) -> ReadEvent:
    kind = event_of(event.topic)
    if kind is None:
        if TOPIC.fullmatch(event.topic):
            raise NewerEvent(event.position, event.stream, event.topic)
        raise damaged(event, LookupError())
    try:
        state = event.state
        if event.topic in ALSO_READ:
            needs = key_references(event.data())
            state = encode(EventMapper(await held_keys(keys, needs)).event(event.topic, state))
        return ReadEvent(event, kind, sealed_decoder(kind).decode(state))
    except DAMAGED as error:
        raise damaged(event, error) from error


def _needed(read: ReadEvent, raw: bytes) -> Iterator[KeyReference]:
    """Yield the keys that the values in *raw*, one or a list of them, need."""
    text = bytes(raw)
    lookup, ids = read.said.lookup, read.said.sealed_with
    for value in _values(text if text.startswith(b"[") else b"[" + text + b"]"):
        if value.box:
            yield KeyReference(key_name(lookup, value.person), ids.get(value.person))
