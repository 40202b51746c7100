"""What is sealed in a page of events, opened in memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from msgspec import Raw
from msgspec.structs import replace

from cs.domain.brand import events as brand
from cs.domain.codec import ALSO_READ, AnyEvent, encode, event_of
from cs.domain.person import PersonErased
from cs.eventlog.errors import LogUnavailable, NewerEvent
from cs.eventlog.key_cache import held_keys
from cs.eventlog.mapper import TOPIC, DataKeys, EventMapper
from cs.eventlog.sealing import (
    HeldKeys,
    KeyReference,
    key_name,
    key_references,
    open_box,
    open_with,
)
from cs.history.export.stored_shapes import sealed_decoder
from cs.history.history import HistoryEvent, damaged
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue

P = TypeVar("P")

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
        values: What it says about people and is to be opened, as it is stored.
    """

    event: HistoryEvent
    kind: type[AnyEvent]
    said: Any
    values: Sequence["Value"] = ()


class OpenedValue(NamedTuple, Generic[P]):
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
    """A personal value as it is stored.

    Attributes:
        person: ``p1``, ``p2``, …
        box: What is sealed; ``None``: it is in clear, being of a version that was upcast.
        clear: Its JSON, if it is in clear.
    """

    person: str
    box: str | None
    clear: Raw = Raw(b"")


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

    def people(self, read: ReadEvent, shape: Callable[..., P]) -> Iterator[OpenedValue[P]]:
        """Yield what the event *read* says about each person in it."""
        ids = read.said.sealed_with
        for value in read.values:
            if value.box is None:
                yield OpenedValue(value.person, _decoder(shape).decode(value.clear))
                continue
            name = key_name(read.said.lookup, value.person)
            lost = len(self.lost)
            plain = self._opened(read, KeyReference(name, ids.get(value.person)), value.box)
            if plain is None:
                yield OpenedValue(value.person, None, erased=lost == len(self.lost))
            else:
                yield OpenedValue(value.person, _decoder(shape).decode(plain))

    def _opened(self, read: ReadEvent, need: KeyReference, box: str) -> bytes | None:
        key = self._held.get(need.name)
        if key is not None and box:
            with suppress(InvalidTag):  # else it is another key, or damage
                return open_with(key, need.name, box)
        return open_box(need, box, self._held, self._note(read.event))

    def _note(self, event: HistoryEvent) -> Any:
        def note(lost: LostValue) -> None:
            self.lost.append(replace(lost, position=event.position, stream=event.stream))

        return note


def _values(raw: bytes) -> list[Value]:
    """Return the values in *raw*, one or a list of them."""
    listed = raw if raw.startswith(b"[") else b"[" + raw + b"]"
    try:
        return _VALUES.decode(listed)
    except msgspec.ValidationError:  # none is sealed
        clear = msgspec.json.decode(listed, type=list[Raw])
        return [Value(_PERSON.decode(each).person, None, each) for each in clear]


def people_named(raw: bytes) -> list[str]:
    """Return the people of *raw*, a list of personal values; none of them is opened."""
    return [each.person for each in msgspec.json.decode(raw, type=list[_Person])]


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
    names: set[str] = set()
    forget = False
    try:
        for event in page:
            old = await _upcast(keys, event) if event.topic in ALSO_READ else None
            each = _read(event, fields, old)
            read.append(each)
            forget = forget or each.kind in _FORGETTING
            for value in each.values:
                if value.box:
                    names.add(key_name(each.said.lookup, value.person))
        if forget:
            keys.forget()
        held = await _held_keys(keys, names)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error
    return OpenPage(read, held)


async def _held_keys(keys: DataKeys, names: set[str]) -> HeldKeys:
    """Return what is known of the keys *names*; a destroyed one is ``None``."""
    if not names:
        return {}
    found = await keys.find(names)
    missing = names - found.keys()
    return {**found, **await keys.look(missing)} if missing else found


async def _upcast(keys: DataKeys, event: HistoryEvent) -> bytes:
    """Return *event* as it is stored today, its people in clear."""
    try:
        held = await held_keys(keys, key_references(event.data()))
        return encode(EventMapper(held).event(event.topic, event.state))
    except DAMAGED as error:
        raise damaged(event, error) from error


def _read(
    event: HistoryEvent, fields: Mapping[type[AnyEvent], str], upcast: bytes | None
) -> ReadEvent:
    kind = event_of(event.topic)
    if kind is None:
        if TOPIC.fullmatch(event.topic):
            raise NewerEvent(event.position, event.stream, event.topic)
        raise damaged(event, LookupError())
    try:
        said = sealed_decoder(kind).decode(event.state if upcast is None else upcast)
        field = fields.get(kind)
        values = () if field is None else _values(bytes(getattr(said, field)))
        return ReadEvent(event, kind, said, values)
    except DAMAGED as error:
        raise damaged(event, error) from error


@cache
def _decoder(shape: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(shape)


class _Person(msgspec.Struct):
    person: str


_VALUES = msgspec.json.Decoder(list[Value])
_PERSON = msgspec.json.Decoder(_Person)
