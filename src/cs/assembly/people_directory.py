"""Where the operator's own people are: in the stages' database, else in the data folder."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial

from cs.assembly.folder_keys import stored_secret
from cs.directory.sqlite import SqliteDirectory
from cs.directory.store import DirectoryUnavailable, PeopleDirectory, forget_old_people
from cs.domain.service import World
from cs.keystore.wrapping import PEOPLE_DIRECTORY
from cs.operations.retention import MONTH
from cs.runtime.clock import Clock
from cs.settings import Settings

#: The people of `cs directory import`, sealed; part of a backup of the log.
DIRECTORY_FILE = "directory.db"


@asynccontextmanager
async def open_directory(
    settings: Settings, world: World = "live", role: str = "command"
) -> AsyncIterator[PeopleDirectory]:
    """Yield the directory of *settings*.

    Neither the database is connected to nor the file made before a person is stored.  A
    service in one process that shares no more than the account of paid services, and has no
    key, keeps its people in its folder.

    Raises:
        BadSettings: The stages' database or its key is not named as it has to be.
    """
    shared = settings.postgres is not None or settings.stages_key_file is not None
    if settings.stages_postgres is not None and shared:
        # A service in one process starts without what only databases need.
        from cs.assembly.databases import pool_of, read_key  # noqa: PLC0415
        from cs.directory.postgres import PostgresDirectory  # noqa: PLC0415

        key = read_key(settings.stages_key_file, "stages_key_file")
        async with pool_of(settings, "stages_postgres", role, world) as pool:
            yield PostgresDirectory(pool, key)
        return
    async with SqliteDirectory(
        settings.data_dir / DIRECTORY_FILE, partial(stored_secret, settings, PEOPLE_DIRECTORY)
    ) as kept:
        yield kept


@asynccontextmanager
async def open_directory_if_named(settings: Settings) -> AsyncIterator[PeopleDirectory | None]:
    """Yield the directory of *settings*; ``None`` if they do not name its key.

    It is looked into where that connects to no database.
    """
    elsewhere = settings.postgres is not None and settings.stages_postgres is not None
    if elsewhere and settings.stages_key_file is None:
        yield None
        return
    async with open_directory(settings) as directory:
        if settings.stages_postgres is None:
            await look_if_readable(directory)
        yield directory


@asynccontextmanager
async def kept_directory(
    directory: PeopleDirectory, settings: Settings, clock: Clock
) -> AsyncIterator[None]:
    """Look whether there is anybody, and forget who is too old until left."""
    await look_if_readable(directory)  # the answer is kept for those that ask
    async with forget_old_people(directory, clock, MONTH * settings.people_kept_for):
        yield


async def look_if_readable(directory: PeopleDirectory) -> None:
    """Look whether there is anybody in *directory*, if that can be said now."""
    with suppress(DirectoryUnavailable):
        await directory.look()
