"""Opening what stored events say about people, many at once.

An event that is damaged, or that says nothing about anybody any more, hides no other.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import msgspec
from cryptography.exceptions import InvalidTag

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.key_cache import held_keys
from cs.eventlog.sealing import HeldKeys, KeyReference, key_references, unseal
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue
from cs.keystore.port import KeyStore

_SEALED = b'"sealed"'
#: What opening raises if a stored event is not what was stored.
_DAMAGED = (
    msgspec.MsgspecError,
    InvalidTag,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    RecursionError,
)


class Stored(Protocol):
    """A stored event, `cs.eventlog.port.SealedEvent` or `cs.history.history.HistoryEvent`."""

    @property
    def position(self) -> int: ...
    @property
    def stream(self) -> str: ...
    @property
    def state(self) -> bytes: ...


async def opened(keys: KeyStore, events: Sequence[Stored]) -> list[dict[str, Any] | None]:
    """Return what each of *events* says, people opened; ``None`` for a damaged one.

    A value whose key was destroyed, or is lost, reads as erased (`cs.domain.codec.ERASED`).
    The keys of all of *events* are in memory at once.

    Raises:
        LogUnavailable: The data keys cannot be read now.
    """
    plain = [_decoded(event.state) for event in events]
    wanted = {need for each in plain if each is not None for need in _needs(each)}
    try:
        held = await held_keys(keys, wanted)
    except KeysUnavailable as error:
        raise LogUnavailable(f"the data keys could not be read: {error}") from error
    found: list[dict[str, Any] | None] = []
    lost: list[LostValue] = []
    for event, each in zip(events, plain, strict=True):
        values: list[LostValue] = []
        found.append(_unsealed(event, each, held, values.append))
        lost += (
            msgspec.structs.replace(value, position=event.position, stream=event.stream)
            for value in values
        )
    keys.lost.note(lost)
    return found


def _unsealed(
    event: Stored,
    plain: dict[str, Any] | None,
    held: HeldKeys,
    lost: Callable[[LostValue], None],
) -> dict[str, Any] | None:
    if plain is None or _SEALED not in event.state:
        return plain
    try:
        return unseal(plain, str(plain.get("lookup")), held, lost)
    except _DAMAGED:
        return None


def _decoded(state: bytes) -> dict[str, Any] | None:
    try:
        plain = msgspec.json.decode(state)
    except _DAMAGED:
        return None
    return plain if isinstance(plain, dict) else None


def _needs(plain: dict[str, Any]) -> Sequence[KeyReference]:
    try:
        return tuple(key_references(plain))
    except _DAMAGED:
        return ()
