"""Data keys that stored values need: from memory if they fit, else from the store itself."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from cs.eventlog.sealing import HeldKeys, KeyReference, key_id


class DataKeyReader(Protocol):
    """What is needed of the key store (`cs.keystore.port.KeyStore`)."""

    async def find(self, names: Iterable[str]) -> Mapping[str, bytes]: ...
    async def look(self, names: Iterable[str]) -> Mapping[str, bytes | None]: ...


async def held_keys(keys: DataKeyReader, needs: Iterable[KeyReference]) -> HeldKeys:
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
