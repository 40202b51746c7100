"""What a lookup found, opened and put together as it is sent."""

from cryptography.exceptions import InvalidTag

from cs.eventlog.errors import LogUnavailable
from cs.eventlog.mapper import DataKeys, held_keys
from cs.eventlog.sealing import key_reference_of, open_bytes, why_lost
from cs.keystore.errors import KeysUnavailable
from cs.keystore.lost import LostValue
from cs.projections.searches import ResultRow


class ResultContacts:
    """Opens the sealed contacts of results with the data keys in *keys*."""

    def __init__(self, keys: DataKeys) -> None:
        self._keys = keys

    def _opened(self, result: ResultRow) -> bytes | None:
        """Return the contacts in *result* if their key is in memory and opens them."""
        key = self._keys.held(result.key) if result.sealed else None
        if key is None:
            return None
        try:
            return open_bytes(key, result.key, result.sealed)
        except InvalidTag:
            return None  # damaged, or another key of that name: `contacts` finds out

    async def contacts(self, result: ResultRow) -> bytes | None:
        """Return the contacts in *result*; ``None`` if their key was destroyed or is lost.

        Raises:
            LogUnavailable: The keys are away, or the row is damaged.
        """
        opened = self._opened(result)
        if opened is not None or not result.sealed:
            return opened
        need = key_reference_of(result.key, result.sealed)
        try:
            held = await held_keys(self._keys, [need])
            why = why_lost(need, held, lambda key: open_bytes(key, result.key, result.sealed))
            if why is not None:
                self._keys.lost.note([LostValue(result.key, why)])
                return None
            key = held[result.key]
            return None if key is None else open_bytes(key, result.key, result.sealed)
        except KeysUnavailable as error:
            raise LogUnavailable(str(error)) from error
        except InvalidTag as error:
            raise LogUnavailable(
                f"what the views have under {result.key} is damaged; make them anew"
            ) from error


def spliced(result: ResultRow, contacts: bytes) -> bytes:
    """Return the fields that all searches of a lookup share, as one JSON object."""
    return result.head[:-1] + b',"contacts":' + contacts + b"}"
