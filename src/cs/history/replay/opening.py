"""Opening people of stored events, many and fast: typed, and each value once.

Reading events as the service does (`cs.eventlog.mapper`) opens everything that stands in them;
a replay needs the fewest of their values, of very many events.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.domain.contact import Checked, LeftOut, Person, Ranked
from cs.domain.personal import Personal
from cs.eventlog.errors import LogUnavailable
from cs.eventlog.sealing import key_id, key_name
from cs.keystore.errors import KeysUnavailable

P = TypeVar("P", bound=Personal)


class DataKeys(Protocol):
    """What is needed of the key store (`cs.keystore.port.KeyStore`)."""

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]: ...


#: Before the ciphertext (`cs.eventlog.sealing`): the nonce.
_NONCE = 12


class SealedValue(msgspec.Struct, frozen=True):
    """A personal value as it is stored; without a box it was erased before."""

    person: str
    box: bytes


class _Sealed(msgspec.Struct, frozen=True, kw_only=True):
    lookup: str
    sealed_with: dict[str, str] = {}


class SealedPeople(_Sealed, frozen=True, kw_only=True):
    """Of a stored *people found* or *contacts discovered* event: what a replay needs."""

    people: tuple[SealedValue, ...] = ()


class SealedRanking(_Sealed, frozen=True, kw_only=True):
    """Of a stored *contacts ranked* event."""

    ranked: tuple[SealedValue, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    rules: str | None = None


class SealedCheck(_Sealed, frozen=True, kw_only=True):
    """Of a stored *mailbox verified* or *mailbox not verified* event."""

    checked: SealedValue


class _Whose(msgspec.Struct, frozen=True):
    person: str


class WhoseCheck(_Sealed, frozen=True, kw_only=True):
    """Of the same: only whose mailbox it was, which is in clear."""

    checked: _Whose


AnySealed = SealedPeople | SealedRanking | SealedCheck | WhoseCheck

PERSON = msgspec.json.Decoder(Person)
RANKED = msgspec.json.Decoder(Ranked)
CHECKED = msgspec.json.Decoder(Checked)


class Opener:
    """Opens values with the keys that were loaded for them."""

    def __init__(self, held: Mapping[str, bytes]) -> None:
        self._held = held
        self._ciphers: dict[str, AESGCM] = {}

    def open(
        self, event: AnySealed, value: SealedValue, decoder: msgspec.json.Decoder[P]
    ) -> P | None:
        """Return *value* of *event*; ``None`` if it is erased, or its key is lost.

        Raises:
            InvalidTag: It is damaged.
            msgspec.MsgspecError: It is no such value.
        """
        if not value.box:
            return None
        name = key_name(event.lookup, value.person)
        key = self._held.get(name)
        if key is None:
            return None
        cipher = self._ciphers.get(name)
        if cipher is None:
            cipher = self._ciphers[name] = AESGCM(key)
        try:
            plain = cipher.decrypt(value.box[:_NONCE], value.box[_NONCE:], name.encode())
        except InvalidTag:
            if event.sealed_with.get(value.person) == key_id(key):
                raise
            return None  # sealed with another key of that name, which is lost
        return decoder.decode(plain)


async def opener(
    keys: DataKeys, wanted: Iterable[tuple[AnySealed, Iterable[SealedValue]]]
) -> Opener:
    """Return what opens these values.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    names = {
        key_name(event.lookup, value.person)
        for event, values in wanted
        for value in values
        if value.box
    }
    try:
        return Opener(await keys.find(names) if names else {})
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error
