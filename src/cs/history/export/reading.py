"""A page of events, read as they are stored, with what opens their people."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec
from msgspec import Raw

from cs.domain.brand import events as brand
from cs.domain.codec import ALSO_READ, AnyEvent, decode, encode, event_of
from cs.domain.person import PersonErased
from cs.eventlog.errors import NewerEvent
from cs.eventlog.mapper import TOPIC
from cs.history.export.stored_shapes import sealed_decoder
from cs.history.history import HistoryEvent, damaged
from cs.history.opening import DAMAGED, Opener, SealedValue, names_of, opened, opener
from cs.keystore.lost import LostValue
from cs.keystore.port import KeyStore

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
REVEALED = OPENED | {brand.ContactsRanked: "ranked", brand.ContactBounced: "bounced"}
#: After these, data keys in memory may be destroyed ones.
_FORGETTING = (PersonErased, brand.ContactsErased)


class ValueInClear(NamedTuple):
    """A personal value of an event that was upcast, its people opened before.

    Attributes:
        state: Its JSON.
    """

    person: str
    state: Raw


class ReadEvent(NamedTuple):
    """An event, and what it says.

    Attributes:
        kind: What it is today.
        said: As its `cs.history.export.stored_shapes.sealed_shape`.
        values: What it says about people and is to be opened.
    """

    event: HistoryEvent
    kind: type[AnyEvent]
    said: Any
    values: Sequence[SealedValue | ValueInClear] = ()


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


class OpenPage:
    """The events of a page, and what opens their people.

    Attributes:
        events: In order.
        lost: Values that could not be opened because their key is lost.
    """

    def __init__(self, events: Sequence[ReadEvent], opens: Opener) -> None:
        self.events = events
        self._opens = opens

    @property
    def lost(self) -> Sequence[LostValue]:
        return self._opens.lost

    def people(self, read: ReadEvent, shape: Callable[..., P]) -> Iterator[OpenedValue[P]]:
        """Yield what the event *read* says about each person in it."""
        decoder = _decoder(shape)
        for value in read.values:
            if isinstance(value, ValueInClear):
                yield OpenedValue(value.person, decoder.decode(value.state))
                continue
            lost = len(self.lost)
            said = self._opens.read(read.event, read.said, value, decoder)
            yield OpenedValue(value.person, said, said is None and lost == len(self.lost))


def people_named(raw: Raw) -> list[str]:
    """Return the people of *raw*, one or a list of personal values; none of them is opened."""
    return [each.person for each in _listed(raw, _PEOPLE)]


async def open_page(
    keys: KeyStore, page: Iterable[HistoryEvent], *, reveal: bool = False
) -> OpenPage:
    """Return *page* read, with the data keys of those who are to be opened.

    Raises:
        NewerEvent: A newer version wrote one of them.
        DamagedEvent: One of them cannot be read.
        LogUnavailable: The data keys cannot be read now.
    """
    fields = REVEALED if reveal else OPENED
    read = [
        await _upcast(keys, event, fields) if event.topic in ALSO_READ else _read(event, fields)
        for event in page
    ]
    if any(each.kind in _FORGETTING for each in read):
        keys.forget()
    names = (
        name for each in read if each.values for name in names_of(each.said, _sealed(each))
    )
    return OpenPage(read, await opener(keys, names))


def _sealed(read: ReadEvent) -> Iterator[SealedValue]:
    return (value for value in read.values if isinstance(value, SealedValue))


def _read(event: HistoryEvent, fields: Mapping[type[AnyEvent], str]) -> ReadEvent:
    kind = event_of(event.topic)
    if kind is None:
        if TOPIC.fullmatch(event.topic):
            raise NewerEvent(event.position, event.stream, event.topic)
        raise damaged(event, LookupError())
    try:
        said = sealed_decoder(kind).decode(event.state)
        field = fields.get(kind)
        values = () if field is None else _listed(getattr(said, field), _VALUES)
        return ReadEvent(event, kind, said, values)
    except DAMAGED as error:
        raise damaged(event, error) from error


async def _upcast(
    keys: KeyStore, event: HistoryEvent, fields: Mapping[type[AnyEvent], str]
) -> ReadEvent:
    """Return *event*, of another version, read as it is stored today, its people in clear."""
    [state] = await opened(keys, [event])
    try:
        if state is None:
            raise ValueError
        today = decode(event.topic, state)
        said = sealed_decoder(type(today)).decode(encode(today))
        field = fields.get(type(today))
        states = () if field is None else _listed(getattr(said, field), _RAWS)
        values = [ValueInClear(_PERSON.decode(each).person, each) for each in states]
        return ReadEvent(event, type(today), said, values)
    except DAMAGED as error:
        raise damaged(event, error) from error


def _listed(raw: Raw, decoder: "msgspec.json.Decoder[list[P]]") -> list[P]:
    """Return the values in *raw*, one or a list of them."""
    state = bytes(raw)
    return decoder.decode(state if state.startswith(b"[") else b"[" + state + b"]")


@cache
def _decoder(shape: Any) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(shape)


class _PersonReference(msgspec.Struct):
    person: str


_VALUES = msgspec.json.Decoder(list[SealedValue])
_RAWS = msgspec.json.Decoder(list[Raw])
_PERSON = msgspec.json.Decoder(_PersonReference)
_PEOPLE = msgspec.json.Decoder(list[_PersonReference])
