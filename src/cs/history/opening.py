"""Opening what stored events say about people: the one way to do it here, and a fast one.

A value stands sealed in the JSON of its event (`cs.eventlog.sealing`), which is not walked for
it.  Whoever needs a few values decodes the event as a struct of its own, a `SealedPeople` with
a `SealedValue` wherever one stands, and opens those with `Opener.read`.  Whoever needs all that
an event says gets its JSON with each value opened in its place (`opened`).
"""

from binascii import a2b_base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.key_cache import DataKeyReader
from cs.eventlog.sealed_state import SealedState, erased_state
from cs.eventlog.sealing import (
    HeldKeys,
    KeyReference,
    decrypted,
    key_name,
    why_lost,
)
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue, LostValues

P = TypeVar("P")

#: What reading raises if a stored event is not what was stored.
DAMAGED = (
    msgspec.MsgspecError,
    InvalidTag,
    ValueError,
    LookupError,
    TypeError,
    RecursionError,
)


class OpenerKeys(DataKeyReader, Protocol):
    """What is needed of the key store (`cs.keystore.port.KeyStore`)."""

    @property
    def lost(self) -> LostValues: ...


class SealedEventFields(Protocol):
    """A stored event, `cs.eventlog.port.SealedEvent` or `cs.history.history.HistoryEvent`."""

    @property
    def position(self) -> int: ...
    @property
    def stream(self) -> str: ...
    @property
    def state(self) -> bytes: ...


class SealedValue(msgspec.Struct, frozen=True, gc=False):
    """A personal value as it is stored; without a box it was erased before."""

    person: str
    box: bytes = b""


class SealedPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what is read of a stored event that holds people.

    Attributes:
        sealed_with: By person, the id of their key; of an older version nobody's.
    """

    lookup: str = ""
    sealed_with: dict[str, str] = {}


class Opener:
    """Opens the values of people whose keys were loaded for it: made by `opener`.

    Attributes:
        lost: Values that could not be opened because their key is lost, for
            `cs.keystore.lost.LostValues.note`.
    """

    def __init__(self, held: HeldKeys) -> None:
        self.lost: list[LostValue] = []
        self._held = held
        self._ciphers: dict[str, AESGCM] = {}

    def open(self, event: SealedEventFields, need: KeyReference, box: bytes) -> bytes | None:
        """Return the JSON in *box*; ``None``: nothing of it can be read.

        Either because it is erased, or because its key is lost: then it stands in `lost`.

        Args:
            event: It stands in this one.
            need: The key that it is sealed with.
            box: What is opened.

        Raises:
            cryptography.exceptions.InvalidTag, ValueError: It is damaged.
        """
        if not box:
            return None
        name = need.name
        cipher = self._ciphers.get(name)
        if cipher is None and (key := self._held.get(name)) is not None:
            cipher = self._ciphers[name] = AESGCM(key)
        if cipher is not None:
            try:
                return decrypted(cipher, name, box)
            except InvalidTag:
                pass  # it is another key, or damage
        why = why_lost(need, self._held, lambda key: decrypted(AESGCM(key), name, box))
        if why is not None:
            self.lost.append(LostValue(name, why, event.position, event.stream))
        elif cipher is not None:
            raise InvalidTag
        return None

    def read(
        self,
        event: SealedEventFields,
        people: SealedPeople,
        value: SealedValue,
        decoder: "msgspec.json.Decoder[P]",
    ) -> P | None:
        """Return what *decoder* makes of *value*; ``None``: nothing of it can be read (`open`).

        Args:
            event: It stands in this one.
            people: What was read of that.
            value: What is opened.
            decoder: Of what it is.

        Raises:
            cryptography.exceptions.InvalidTag, ValueError: It is damaged.
        """
        key_id = people.sealed_with.get(value.person)
        need = KeyReference(key_name(people.lookup, value.person), key_id)
        plain = self.open(event, need, value.box)
        return None if plain is None else decoder.decode(plain)


async def opener(keys: OpenerKeys, names: Iterable[str]) -> Opener:
    """Return what opens the values that are sealed under the keys *names* (`names_of`).

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    wanted = set(names)
    try:
        found = await keys.find(wanted) if wanted else {}
        missing = wanted - found.keys()
        return Opener({**found, **await keys.look(missing)} if missing else found)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error


def names_of(people: SealedPeople, values: Iterable[SealedValue]) -> Iterator[str]:
    """Yield the names of the keys that *values* of an event need; *people* was read of that."""
    for value in values:
        if value.box:  # else it was erased before it was stored
            yield key_name(people.lookup, value.person)


async def opened(
    keys: OpenerKeys, events: Sequence[SealedEventFields], lost: set[str] | None = None
) -> list[bytes | None]:
    """Return the JSON of each of *events*, every value opened in its place.

    ``None`` for one that is damaged; it hides no other.  A value whose key was destroyed, or
    is lost, reads as erased (`cs.domain.codec.ERASED`).  The keys of all of *events* are in
    memory at once.

    Args:
        keys: Open them.
        events: In any order.
        lost: Gets the names of lost keys, ``<lookup>#p1``.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    taken_apart = [_taken_apart(event.state) for event in events]
    needs = (need.name for each in taken_apart if each is not None for need in each.needs())
    opens = await opener(keys, needs)
    states = [
        None if each is None else _opened(event, each, opens)
        for event, each in zip(events, taken_apart, strict=True)
    ]
    keys.lost.note(opens.lost)
    if lost is not None:
        lost.update(each.name for each in opens.lost)
    return states


def _taken_apart(state: bytes) -> SealedState | None:
    try:
        return SealedState(state)
    except DAMAGED:
        return None


def _opened(event: SealedEventFields, state: SealedState, opens: Opener) -> bytes | None:
    def put(kind: bytes, person: bytes, box: bytes) -> bytes:
        plain = opens.open(event, state.need(person), a2b_base64(box))
        return erased_state(kind, person) if plain is None else plain

    try:
        return state.joined(put)
    except DAMAGED:
        return None
