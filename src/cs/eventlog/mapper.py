"""Domain events to stored events and back, personal values sealed."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from msgspec.structs import replace

from cs.domain.brand.events import ContactsErased
from cs.domain.codec import (
    AnyEvent,
    decode,
    encode,
    event_of,
    from_plain,
    to_plain,
    topic_of,
)
from cs.domain.messages import Event
from cs.domain.person import PersonErased
from cs.eventlog.fingerprints import fingerprints
from cs.eventlog.port import (
    EVERYBODY,
    NO_EVENT,
    Append,
    DamagedEvent,
    EventNeeds,
    LogUnavailable,
    NewerEvent,
    RecordedEvent,
)
from cs.eventlog.sealing import (
    PERSONAL,
    HeldKeys,
    KeyReference,
    key_id,
    key_name,
    key_references,
    needs_key,
    opened,
    personal_values,
    seal,
    shut,
)
from cs.eventlog.stored_cause import cause_in, with_cause
from cs.keystore.lost import LostValue
from cs.keystore.port import KeyStore, KeysUnavailable

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
#: After these, data keys in memory may be destroyed ones.
FORGETTING: frozenset[type[Event]] = frozenset({PersonErased, ContactsErased})


class NewEvent(NamedTuple):
    """An event as it is to be stored."""

    stream: str
    version: int
    topic: str
    state: bytes


class StoreForm(NamedTuple):
    """Events ready to store.

    Attributes:
        as_given: Read back they say the same; else a person in them has no key any more.
    """

    stored: Sequence[NewEvent]
    as_given: bool


async def store_form(keys: KeyStore, appends: Sequence[Append]) -> StoreForm:
    """Return the events of *appends* ready to store.

    The data keys they need, and the index that finds a person's keys, are durable on
    return: an event is never stored before the key that opens it.
    """
    names: set[str] = set()
    entries: set[tuple[str, str]] = set()
    plain_events: dict[tuple[int, int], dict[str, Any]] = {}  # of those with people in them
    for i, append in enumerate(appends):
        for n, event in enumerate(append.events):
            if PERSONAL not in encode(event):
                continue
            plain = plain_events[i, n] = to_plain(event)
            for value in filter(needs_key, personal_values(plain)):
                name = key_name(str(plain.get("lookup")), value["person"])
                names.add(name)
                entries.update((print_, name) for print_ in fingerprints(keys, value))
    # The index comes first: a suppressed person gets no key.
    held = await keys.ensure_indexed(names, entries) if names else {}
    stored = []
    for i, append in enumerate(appends):
        for n, event in enumerate(append.events):
            plain = plain_events.get((i, n), {})
            if "lookup" in plain:
                state = msgspec.json.encode(seal(plain, plain["lookup"], held))
            else:
                state = encode(event)
            state = with_cause(state, append.caused_by)
            stored.append(
                NewEvent(append.stream, append.expected + n + 1, topic_of(event), state)
            )
    return StoreForm(stored, as_given=names <= held.keys())


def _is_newer(topic: str) -> bool:
    """Return whether a newer version may have written *topic*; else it is damage."""
    if event_of(topic) is not None:
        return False
    return TOPIC.fullmatch(str(topic)) is not None  # damaged, SQLite has it in any type


def readable(rows: Sequence[StoredRow]) -> Sequence[StoredRow]:
    """Return *rows* up to the first of a newer version, if it is not the very first."""
    for n, row in enumerate(rows):
        if _is_newer(row[3]):
            return rows[:n] or rows
    return rows


async def domain_form(
    keys: KeyStore, rows: Sequence[StoredRow], wanted: EventNeeds = EVERYBODY
) -> list[RecordedEvent]:
    """Return the events in *rows*, of each what is *wanted*.

    An event by which a person was erased drops the keys in memory, theirs among them.

    Raises:
        NewerEvent: A newer version wrote one of them.  Such an event may follow it, so the
            keys in memory are dropped then too.
        LookupError: The topic of one is none that any version writes.
    """
    kinds = _kinds(keys, rows)
    if not FORGETTING.isdisjoint(kinds):
        keys.forget()
    sealed: dict[int, dict[str, Any]] = {}
    needs: set[KeyReference] = set()
    for row, kind in zip(rows, kinds, strict=True):
        if SEALED in row[4] and wanted.reads(kind):
            sealed[row[0]] = plain = msgspec.json.decode(row[4])
            if wanted.opens(kind):
                needs.update(key_references(plain))
    held = await held_keys(keys, needs)
    lost, found = list[LostValue](), list[RecordedEvent]()
    for (position, stream, version, topic, state), kind in zip(rows, kinds, strict=True):
        if not wanted.reads(kind):
            found.append(RecordedEvent(position, stream, version, NO_EVENT))
            continue
        if position not in sealed:
            event = decode(topic, state)
        elif wanted.opens(kind):
            met = list[LostValue]()
            event = from_plain(topic, opened(sealed[position], held, met.append))
            lost += (replace(v, position=position, stream=stream) for v in met)
        else:
            event = from_plain(topic, shut(sealed[position]))
        found.append(RecordedEvent(position, stream, version, event, cause_in(state)))
    keys.lost.note(lost)
    return found


def _kinds(keys: KeyStore, rows: Sequence[StoredRow]) -> Sequence[type[AnyEvent]]:
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
    keys: KeyStore, rows: Sequence[StoredRow], wanted: EventNeeds = EVERYBODY
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
        raise DamagedEvent.of(*rows[0][:3], error) from error


async def held_keys(keys: KeyStore, needs: Iterable[KeyReference]) -> HeldKeys:
    """Return what is known of the keys that *needs* refer to.

    The store is asked again for what is not there or is another key than the one needed:
    another process may have made it, or destroyed it.
    """
    wanted = set(needs)
    if not wanted:
        return {}
    found = await keys.find({need.name for need in wanted})
    doubtful = {need.name for need in wanted if not _fits(need, found)}
    if not doubtful:
        return found
    sure = {name: key for name, key in found.items() if name not in doubtful}
    return {**sure, **await keys.look(doubtful)}


def _fits(need: KeyReference, found: Mapping[str, bytes]) -> bool:
    key = found.get(need.name)
    return key is not None and need.key_id in {None, key_id(key)}
