"""Personal values are sealed inside the event, each under the data key of its person.

A personal value (`cs.domain.personal.Personal`) is stored as
``{"sealed": "<its kind>", "person": "p1", "box": "<base64>"}``: AES-256-GCM over its
JSON, a random 96-bit nonce in front (NIST SP 800-38D), the name of its data key as
associated data.  The name is ``<lookup>#<person>``.

Next to the values the event says which key each of its people was sealed with
(``"sealed_with": {"p1": "<key id>"}``): a key store that came back older than the log may
have another key of the same name (docs/decisions/0017-a-sealed-value-names-its-key.md).
"""

import hmac
import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.domain.codec import ERASED, is_erased
from cs.keystore.lost import LostValue

_MARK = "personal"
#: In the JSON of every event with a personal value.
PERSONAL = f'"{_MARK}"'.encode()
_SEALED = {"sealed", "person", "box"}
#: In a stored event: by person, the id of the key that their values are sealed with.  Next
#: to the values and not in them, since versions that know no ids skip fields they do not know.
SEALED_WITH = "sealed_with"
_ID_BYTES = 8
_NONCE_BYTES = 12


class KeyReference(NamedTuple):
    """A key that a sealed value needs: its name, and which one of that name.

    ``key_id`` is ``None`` of values that were sealed before they named their key.
    """

    name: str
    key_id: str | None


#: What is known of keys by name: the key, ``None`` if it was destroyed; not there: lost.
HeldKeys = Mapping[str, bytes | None]
#: Called with a value whose key is lost.
OnLost = Callable[[LostValue], object]


def key_id(key: bytes) -> str:
    """Return an id of *key*, 64 bits in hex, from which nothing about it can be learned.

    A keyed hash under the random key itself: it needs no place in the key store, and stays
    the same when the key is wrapped again.
    """
    return hmac.digest(key, b"key id", "sha256")[:_ID_BYTES].hex()


def seal_bytes(key: bytes, name: str, plain: bytes) -> bytes:
    """Return *plain* sealed under *key*, the key's id in front; *name* is bound to it."""
    return bytes.fromhex(key_id(key)) + _encrypted(key, name, plain)


def key_reference_of(name: str, sealed: bytes) -> KeyReference:
    """Return which key of *name* opens what `seal_bytes` has *sealed*."""
    return KeyReference(name, sealed[:_ID_BYTES].hex())


def open_held(name: str, sealed: bytes, held: HeldKeys, lost: OnLost) -> bytes | None:
    """Return what `seal_bytes` has *sealed* under the key *name*, as `open_sealed` does."""
    return open_sealed(key_reference_of(name, sealed), sealed[_ID_BYTES:], held, lost)


def _encrypted(key: bytes, name: str, plain: bytes) -> bytes:
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plain, name.encode())


def _decrypted(key: bytes, name: str, box: bytes) -> bytes:
    return AESGCM(key).decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], name.encode())


def open_sealed(need: KeyReference, box: bytes, held: HeldKeys, lost: OnLost) -> bytes | None:
    """Return what is sealed in *box*; ``None``: its key was destroyed, or is lost.

    Args:
        need: The key that it was sealed with.
        box: Nonce and ciphertext.
        held: What is known of keys.
        lost: Called with it if its key is lost.

    Raises:
        cryptography.exceptions.InvalidTag: It is damaged.
        ValueError: It is damaged: it is too short.
    """
    if need.name not in held:
        lost(LostValue(need.name, "missing"))
        return None
    key = held[need.name]
    if key is None:
        return None
    try:
        return _decrypted(key, need.name, box)
    except InvalidTag:
        if need.key_id == key_id(key):
            raise
    lost(LostValue(need.name, "unnamed" if need.key_id is None else "another"))
    return None


def personal_values(plain: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every personal value in *plain*, outermost first."""
    return _marked(plain, is_personal)


def key_references(plain: Mapping[str, Any]) -> Iterator[KeyReference]:
    """Yield the keys that the sealed values of the stored event *plain* need."""
    lookup = plain.get("lookup") or ""
    for value in sealed_values(plain):
        if value["box"]:  # else it was erased before it was stored
            yield _need(plain, lookup, value)


def _need(event: Mapping[str, Any], lookup: str, value: Mapping[str, Any]) -> KeyReference:
    with_ids = event.get(SEALED_WITH, {})
    return KeyReference(key_name(lookup, value["person"]), with_ids.get(value["person"]))


def sealed_values(plain: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every sealed value in *plain*, a stored event or a part of one."""
    return _marked(plain, is_sealed)


def _marked(
    plain: Any, marked: Callable[[Mapping[str, Any]], bool]
) -> Iterator[Mapping[str, Any]]:
    if isinstance(plain, dict):
        if marked(plain):
            yield plain
        for value in plain.values():
            yield from _marked(value, marked)
    elif isinstance(plain, list | tuple):
        for value in plain:
            yield from _marked(value, marked)


def key_name(lookup: str, person: str) -> str:
    return f"{lookup}#{person}"


def needs_key(value: Mapping[str, Any]) -> bool:
    """Return whether the personal *value* says anything that needs a key."""
    return not is_erased(value)


def seal(plain: dict[str, Any], lookup: str, keys: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the event *plain* with every personal value sealed, and by which keys.

    A value whose key was destroyed, or that says nothing, is sealed under no key at all: it
    is erased.
    """
    ids: dict[str, str] = {}

    def box(value: dict[str, Any]) -> Any:
        person = value["person"]
        name = key_name(lookup, person)
        key = keys.get(name) if needs_key(value) else None
        sealed = b""
        if key is not None:
            sealed = _encrypted(key, name, msgspec.json.encode(value))
            ids[person] = key_id(key)
        return {"sealed": value[_MARK], "person": person, "box": b64encode(sealed).decode()}

    sealed_plain: dict[str, Any] = _walk(plain, is_personal, box)
    return sealed_plain | {SEALED_WITH: ids} if ids else sealed_plain


def people_in(plain: Mapping[str, Any]) -> set[str]:
    """Return the names of the people in the stored event *plain*, erased ones included."""
    lookup = plain.get("lookup") or ""
    return {key_name(lookup, value["person"]) for value in sealed_values(plain)}


def opened(plain: dict[str, Any], held: HeldKeys, lost: OnLost) -> dict[str, Any]:
    """Return the event *plain* with every sealed value opened.

    One without its key reads as erased; *lost* is called with it unless that key was
    destroyed.

    Raises:
        cryptography.exceptions.InvalidTag: A value is damaged.
    """

    def put(need: KeyReference, value: dict[str, Any]) -> Any:
        in_box = open_box(need, value["box"], held, lost)
        return _erased(value) if in_box is None else msgspec.json.decode(in_box)

    return with_values(plain, put)


def shut(plain: dict[str, Any]) -> dict[str, Any]:
    """Return the event *plain* with every sealed value as if it were erased."""
    return with_values(plain, lambda _, value: _erased(value))


def with_values(
    plain: dict[str, Any], put: Callable[[KeyReference, dict[str, Any]], Any]
) -> dict[str, Any]:
    """Return the stored event *plain* with what *put* returns in place of each sealed value.

    Args:
        plain: As it is stored.
        put: Called with the key that a value needs, and the value.
    """
    lookup = plain.get("lookup") or ""
    found: dict[str, Any] = _walk(
        plain, is_sealed, lambda value: put(_need(plain, lookup, value), value)
    )
    return found


def _erased(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a sealed *value* reads as that cannot be opened."""
    kind = value["sealed"]
    return {_MARK: kind, "person": value["person"], **ERASED[kind]}


def open_box(need: KeyReference, box: str, held: HeldKeys, lost: OnLost) -> bytes | None:
    """Return the JSON in *box*; ``None``: it is erased, or lost, and *lost* is called with it.

    Raises:
        cryptography.exceptions.InvalidTag: It is damaged.
    """
    sealed = b64decode(box)
    return open_sealed(need, sealed, held, lost) if sealed else None


def is_personal(value: Mapping[str, Any]) -> bool:
    return _MARK in value and "person" in value


def is_sealed(value: Mapping[str, Any]) -> bool:
    """By all its names: a mapping of ours may have one of them as a key (a source's name)."""
    return value.keys() == _SEALED


def _walk(
    plain: Any,
    marked: Callable[[Mapping[str, Any]], bool],
    change: Callable[[dict[str, Any]], Any],
) -> Any:
    if isinstance(plain, dict):
        if marked(plain):
            return change(plain)
        return {name: _walk(value, marked, change) for name, value in plain.items()}
    if isinstance(plain, list | tuple):
        return [_walk(value, marked, change) for value in plain]
    return plain
