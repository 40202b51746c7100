"""A stored event with sealed values in it, taken apart as text: nothing is decoded twice.

Its JSON is cut at its sealed values.  What stands in their places is put in as JSON again, and
the whole is decoded once, straight into the event.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

import msgspec

from cs.eventlog.sealing import (
    SEALED_VALUE,
    HeldKeys,
    KeyReference,
    erased_value,
    in_order,
    key_name,
    open_box,
)
from cs.keystore.lost import LostValue

#: In the text between two values: one that is written in another way.
_LEFT = b'"sealed":'


class _Head(msgspec.Struct):
    lookup: str | None = None
    sealed_with: Mapping[str, str] = {}


_head = msgspec.json.Decoder(_Head)


class SealedState:
    """The event in the JSON text *state*.

    Raises:
        msgspec.MsgspecError, UnicodeDecodeError: It is no JSON, or not of an event.
    """

    def __init__(self, state: bytes) -> None:
        head = _head.decode(state)
        self._lookup = head.lookup
        self._key_ids = head.sealed_with
        # Text, kind, person, box, text, kind, ...
        self._parts: list[bytes] = SEALED_VALUE.split(state)
        if any(_LEFT in text for text in self._parts[::4]):
            self._parts = SEALED_VALUE.split(
                msgspec.json.encode(in_order(msgspec.json.decode(state)))
            )

    def needs(self) -> Iterator[KeyReference]:
        """Yield the keys that its values need."""
        return (self.need(person) for _, person, box in self._values() if box)

    def names(self) -> set[str]:
        """Return the names of the people in it, ``<lookup>#p1``, erased ones included."""
        return {self.need(person).name for _, person, _ in self._values()}

    def opened(self, held: HeldKeys, lost: Callable[[LostValue], None]) -> bytes:
        """Return its JSON with every value opened.

        One without its key reads as erased; *lost* is called with it unless that key was
        destroyed.

        Raises:
            cryptography.exceptions.InvalidTag: A value is damaged.
        """

        def put(kind: bytes, person: bytes, box: bytes) -> bytes:
            opened = open_box(self.need(person), box, held, lost)
            return erased_state(kind, person) if opened is None else opened

        return self.joined(put)

    def shut(self) -> bytes:
        """Return its JSON with every value as if it were erased."""
        return self.joined(lambda kind, person, _: erased_state(kind, person))

    def joined(self, put: Callable[[bytes, bytes, bytes], bytes]) -> bytes:
        """Return its JSON with what *put* returns in the place of every value.

        Args:
            put: Called with the kind, the person and the box of each; its JSON is put in.
        """
        said = [self._parts[0]]
        for value, text in zip(self._values(), self._parts[4::4], strict=True):
            said += (put(*value), text)
        return b"".join(said)

    def need(self, person: bytes) -> KeyReference:
        """Return the key that values of *person* need."""
        name = person.decode()
        return KeyReference(key_name(self._lookup or "", name), self._key_ids.get(name))

    def _values(self) -> Iterator[tuple[bytes, bytes, bytes]]:
        parts = iter(self._parts)
        next(parts)
        for kind, person, box, _ in zip(parts, parts, parts, parts, strict=True):
            yield kind, person, box


@lru_cache(maxsize=1024)
def erased_state(kind: bytes, person: bytes) -> bytes:
    """Return the JSON that a sealed value of *kind* reads as which cannot be opened."""
    return msgspec.json.encode(erased_value(kind.decode(), person.decode()))
