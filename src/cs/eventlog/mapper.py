"""Domain events to the library's stored events and back, personal values sealed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from eventsourcing.persistence import Mapper, StoredEvent, Transcoder
from msgspec.structs import replace

from cs.domain.brand.events import ContactsErased
from cs.domain.causation import AnyCause
from cs.domain.codec import (
    AnyEvent,
    decode,
    encode,
    event_of,
    shapes,
    to_plain,
    topic_of,
)
from cs.domain.messages import Event
from cs.domain.person import PersonErased
from cs.eventlog.errors import DamagedEvent, LogUnavailable, NewerEvent
from cs.eventlog.fingerprints import fingerprints
from cs.eventlog.key_cache import DataKeyReader, held_keys
from cs.eventlog.port import EVERYBODY, NO_EVENT, Append, EventNeeds, RecordedEvent
from cs.eventlog.sealed_state import SealedState
from cs.eventlog.sealing import (
    PERSONAL,
    HeldKeys,
    KeyReference,
    key_name,
    needs_key,
    personal_values,
    seal,
)
from cs.eventlog.stored_cause import cause_in, with_cause
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue, LostValues


class DataKeys(DataKeyReader, Protocol):
    """What the mapper needs of the key store (`cs.keystore.port.KeyStore`)."""

    @property
    def lost(self) -> LostValues: ...
    async def ensure(self, names: Iterable[str]) -> Mapping[str, bytes]: ...
    async def ensure_indexed(
        self, names: Iterable[str], entries: Iterable[tuple[str, str]]
    ) -> Mapping[str, bytes]: ...
    def held(self, name: str) -> bytes | None: ...
    def fingerprint(self, kind: str, value: str) -> str: ...
    async def suppressed(self, fingerprints: Iterable[str]) -> frozenset[str]: ...
    def forget(self) -> None: ...


#: Position, stream, version, topic, state.
StoredRow = tuple[int, str, int, str, bytes]
#: What decoding raises if a stored event is not what was stored.
_DAMAGED = (
    msgspec.MsgspecError,
    InvalidTag,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)
#: In the JSON of every event with a sealed value.
SEALED = b'"sealed"'
_WORDS = r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*"
#: What topics look like, of this version and of those to come (CONTRIBUTING.md).
TOPIC = re.compile(rf"{_WORDS}\.{_WORDS}\.v[1-9][0-9]*", re.ASCII)
E = TypeVar("E")
#: After these, data keys in memory may be destroyed ones.
FORGETTING: frozenset[type[Event]] = frozenset({PersonErased, ContactsErased})


class Envelope(msgspec.Struct, frozen=True):
    """An event with its place, the shape the library's mapper deals in."""

    originator_id: str
    originator_version: int
    event: AnyEvent
    caused_by: AnyCause | None = None


def envelopes(appends: Sequence[Append]) -> Iterator[Envelope]:
    """Yield the events of *appends*, each with the version it is to have."""
    for append in appends:
        for n, event in enumerate(append.events, 1):
            yield Envelope(append.stream, append.expected + n, event, append.caused_by)


class JsonTranscoder(Transcoder):
    """msgspec instead of the library's own JSON."""

    def encode(self, obj: Any) -> bytes:
        return msgspec.json.encode(obj)

    def decode(self, data: bytes) -> Any:
        return msgspec.json.decode(data)


class EventMapper(Mapper[str]):
    """The library's `Mapper` for msgspec structs with topics of our own.

    Keys are looked up before, a batch at a time, because the key store is reached
    asynchronously and a mapper is not.

    Attributes:
        lost: Values that were read as erased because their key is lost.
    """

    def __init__(self, keys: HeldKeys) -> None:
        super().__init__(JsonTranscoder())
        self._keys = keys
        self.lost: list[LostValue] = []

    def to_stored_event(self, domain_event: Any) -> StoredEvent:
        return self.stored(domain_event, encode(domain_event.event))

    def stored(self, envelope: Envelope, state: bytes) -> StoredEvent:
        """Return *envelope* ready to store; *state* is its event, not sealed yet."""
        if PERSONAL in state:
            plain = to_plain(envelope.event)
            if "lookup" in plain:
                there = {name: key for name, key in self._keys.items() if key is not None}
                state = self.transcoder.encode(seal(plain, plain["lookup"], there))
        return StoredEvent(
            envelope.originator_id,
            envelope.originator_version,
            topic_of(envelope.event),
            with_cause(state, envelope.caused_by),
        )

    def to_domain_event(self, stored_event: StoredEvent) -> Any:
        return Envelope(
            str(stored_event.originator_id),
            stored_event.originator_version,
            self.event(stored_event.topic, stored_event.state),
            cause_in(stored_event.state),
        )

    def event(self, topic: str, state: bytes) -> AnyEvent:
        """Return the event stored as *state* under *topic*."""
        if SEALED in state:
            state = SealedState(state).opened(self._keys, self.lost.append)
        return decode(topic, state)


class StoreForm(NamedTuple):
    """Events ready to store.

    Attributes:
        as_given: Read back they say the same; else somebody in them has no key any more.
    """

    stored: Sequence[StoredEvent]
    as_given: bool


async def store_form(keys: DataKeys, envelopes: Sequence[Envelope]) -> StoreForm:
    """Return *envelopes* ready to store.

    The data keys they need, and the index that finds a person's keys, are durable on
    return: an event is never stored before the key that opens it.
    """
    names: set[str] = set()
    entries: set[tuple[str, str]] = set()
    states = [encode(envelope.event) for envelope in envelopes]
    for envelope, state in zip(envelopes, states, strict=True):
        if PERSONAL not in state:
            continue
        plain = to_plain(envelope.event)
        lookup = str(plain.get("lookup"))
        for value in filter(needs_key, personal_values(plain)):
            name = key_name(lookup, value["person"])
            names.add(name)
            entries.update((print_, name) for print_ in fingerprints(keys, value))
    # The index comes first: who is suppressed gets no key.
    opened = await keys.ensure_indexed(names, entries) if names else {}
    mapper = EventMapper(opened)
    stored = [mapper.stored(*each) for each in zip(envelopes, states, strict=True)]
    return StoreForm(stored, as_given=names <= opened.keys())


def _is_newer(topic: str) -> bool:
    """Return whether a newer version may have written *topic*; else it is damage."""
    if event_of(topic) is not None:
        return False
    return TOPIC.fullmatch(str(topic)) is not None  # damaged, SQLite has it in any type


def readable(events: Sequence[E], topic_of: Callable[[E], str]) -> Sequence[E]:
    """Return *events* up to the first of a newer version, if it is not the very first."""
    for n, event in enumerate(events):
        topic = topic_of(event)
        if event_of(topic) is None and _is_newer(topic):
            return events[:n] or events
    return events


@cache
def topics_left_out(wanted: EventNeeds) -> frozenset[str]:
    """Return the topics of known events that are not *wanted*.

    One that is not known is wanted by everybody: a newer version wrote it, or it is damaged.
    """
    return frozenset(
        topic for topic in shapes() if (kind := event_of(topic)) and not wanted.reads(kind)
    )


async def domain_form(
    keys: DataKeys, rows: Sequence[StoredRow], wanted: EventNeeds = EVERYBODY
) -> list[RecordedEvent]:
    """Return the events in *rows*, of each what is *wanted*.

    An event by which somebody was erased drops the keys in memory, theirs among them.

    Raises:
        NewerEvent: A newer version wrote one of them.  Such an event may follow it, so the
            keys in memory are dropped then too.
        LookupError: The topic of one is none that any version writes.
    """
    kinds = _kinds(keys, rows)
    if not FORGETTING.isdisjoint(kinds):
        keys.forget()
    sealed: dict[int, SealedState] = {}
    needs: set[KeyReference] = set()
    for row, kind in zip(rows, kinds, strict=True):
        if SEALED in row[4] and wanted.reads(kind):
            sealed[row[0]] = taken_apart = SealedState(row[4])
            if wanted.opens(kind):
                needs.update(taken_apart.needs())
    held = await held_keys(keys, needs)
    lost, found = list[LostValue](), list[RecordedEvent]()
    for (position, stream, version, topic, state), kind in zip(rows, kinds, strict=True):
        if not wanted.reads(kind):
            found.append(RecordedEvent(position, stream, version, NO_EVENT))
            continue
        text = state
        if (parts := sealed.get(position)) is not None:
            if wanted.opens(kind):
                met = list[LostValue]()
                text = parts.opened(held, met.append)
                lost += (replace(v, position=position, stream=stream) for v in met)
            else:
                text = parts.shut()
        event = decode(topic, text)
        found.append(RecordedEvent(position, stream, version, event, cause_in(state)))
    keys.lost.note(lost)
    return found


def _kinds(keys: DataKeys, rows: Sequence[StoredRow]) -> Sequence[type[AnyEvent]]:
    kinds = list[type[AnyEvent]]()
    for position, stream, _, topic, _ in rows:
        kind = event_of(topic)
        if kind is None and _is_newer(topic):
            keys.forget()
            raise NewerEvent(position, stream, topic)
        if kind is None:
            raise LookupError("no topic of an event")
        kinds.append(kind)
    return kinds


async def recorded(
    keys: DataKeys, rows: Sequence[StoredRow], wanted: EventNeeds = EVERYBODY
) -> Sequence[RecordedEvent]:
    """Return what `domain_form` does.

    Raises:
        LogUnavailable: The data keys cannot be read now.
        NewerEvent: As `domain_form`.
        DamagedEvent: One of the events is; it names the first.
    """
    try:
        return await domain_form(keys, rows, wanted)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error
    except _DAMAGED as error:
        if len(rows) > 1:
            for row in rows:  # which one is it?
                await recorded(keys, [row], wanted)
        position, stream, version, _, _ = rows[0]
        why = f"event {position}, {stream} version {version}, is damaged: "
        why += type(error).__name__  # its words may hold some of the event
        raise DamagedEvent(position, stream, version, why) from error
