"""Giving a service a new master key while it runs, in a folder or over several processes."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from cs.assembly.folder_keys import (
    folder_of,
    make_next_master_key,
    open_key_store,
    put_next_master_key_in_place,
)
from cs.assembly.postgres_stores import next_master_key, open_shared_key_store
from cs.keystore.store import StoredKeys
from cs.settings import Settings


class RotationResult(msgspec.Struct, frozen=True):
    """``kept``: where a data folder's old master key is."""

    version: str
    keys: int
    kept: Path | None = None


class MasterKeyVersions(msgspec.Struct, frozen=True):
    """``older``: master keys that some of the keys are wrapped with still."""

    in_use: str
    older: Sequence[str]


async def change(settings: Settings, on_progress: Callable[[int, int], None]) -> RotationResult:
    """Wrap every key with the next master key.

    One in the data folder is made here and put in place; where the settings name the master
    key, they name the next one, too.

    Raises:
        BadSettings: The next one is to be named, and is not.
        DataFolderError, WrongMasterKey, KeysUnavailable: The keys cannot be used.  Do it
            again: what was done is done.
    """
    folder = None if _in_databases(settings) else folder_of(settings, make=False)
    own = folder if folder is not None and folder.own_master_key else None
    version = next_master_key(settings) if own is None else make_next_master_key(own)
    async with _store(settings) as store:
        keys = await store.rotate(version, on_progress)
    kept = None if own is None else put_next_master_key_in_place(own)
    return RotationResult(version, keys, kept)


async def versions(settings: Settings) -> MasterKeyVersions:
    async with _store(settings) as store:
        in_use, *older = await store.versions()
    return MasterKeyVersions(in_use, older)


@asynccontextmanager
async def _store(settings: Settings) -> AsyncIterator[StoredKeys]:
    if _in_databases(settings):
        async with open_shared_key_store(settings, "command") as shared:
            yield shared
    else:
        async with open_key_store(folder_of(settings, make=False)) as own:
            yield own


def _in_databases(settings: Settings) -> bool:
    return settings.postgres is not None or settings.keys_postgres is not None
