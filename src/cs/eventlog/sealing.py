"""Personal values are sealed inside the event, each under the data key of its person.

A personal value (`cs.domain.personal.Personal`) is stored as
``{"sealed": "<its kind>", "person": "p1", "box": "<base64>"}``: AES-256-GCM over its
JSON, a random 96-bit nonce in front (NIST SP 800-38D), the name of its data key as
associated data.  The name is ``<lookup>#<person>``.
"""

import os
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from cs.domain.codec import ERASED

_MARK = "personal"
#: In the JSON of every event with a personal value.
PERSONAL = f'"{_MARK}"'.encode()
_SEALED = {"sealed", "person", "box"}


def seal_bytes(key: bytes, name: str, plain: bytes) -> bytes:
    """Return *plain* sealed under *key*; *name* is bound to it."""
    nonce = os.urandom(12)
    return nonce + AESGCM(key).encrypt(nonce, plain, name.encode())


def open_bytes(key: bytes, name: str, sealed: bytes) -> bytes:
    """Return what was sealed.

    Raises:
        cryptography.exceptions.InvalidTag: Another key or name, or damage.
    """
    return AESGCM(key).decrypt(sealed[:12], sealed[12:], name.encode())


def personal_values(plain: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every personal value in *plain*, outermost first."""
    if isinstance(plain, dict):
        if _is_personal(plain):
            yield plain
        for value in plain.values():
            yield from personal_values(value)
    elif isinstance(plain, list | tuple):
        for value in plain:
            yield from personal_values(value)


def sealed_names(plain: Any, lookup: str) -> Iterator[str]:
    """Yield the names of the keys that the sealed values in *plain* need."""
    if isinstance(plain, dict):
        if _is_sealed(plain):
            yield key_name(lookup, plain["person"])
        else:
            for value in plain.values():
                yield from sealed_names(value, lookup)
    elif isinstance(plain, list):
        for value in plain:
            yield from sealed_names(value, lookup)


def key_name(lookup: str, person: str) -> str:
    return f"{lookup}#{person}"


def seal(plain: Any, lookup: str, keys: Mapping[str, bytes]) -> Any:
    """Return *plain* with every personal value sealed.

    A value whose key was destroyed is sealed under no key at all: it is erased.
    """

    def box(value: dict[str, Any]) -> Any:
        name = key_name(lookup, value["person"])
        key = keys.get(name)
        sealed = b"" if key is None else seal_bytes(key, name, msgspec.json.encode(value))
        return {
            "sealed": value[_MARK],
            "person": value["person"],
            "box": b64encode(sealed).decode(),
        }

    return _walk(plain, _is_personal, box)


def unseal(plain: Any, lookup: str, keys: Mapping[str, bytes]) -> Any:
    """Return *plain* with every sealed value opened, or as its erased form without a key."""

    def opened(value: dict[str, Any]) -> Any:
        name = key_name(lookup, value["person"])
        key, sealed = keys.get(name), b64decode(value["box"])
        if key is None or not sealed:
            return {
                _MARK: value["sealed"],
                "person": value["person"],
                **ERASED[value["sealed"]],
            }
        return msgspec.json.decode(open_bytes(key, name, sealed))

    return _walk(plain, _is_sealed, opened)


def _is_personal(value: Mapping[str, Any]) -> bool:
    return _MARK in value and "person" in value


def _is_sealed(value: Mapping[str, Any]) -> bool:
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
