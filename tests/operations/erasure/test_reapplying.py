"""A key store that came back from a backup is made to forget again, whatever is damaged."""

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from cs.assembly.folder import FolderStores, open_folder
from cs.domain.brand.events import PeopleFound
from cs.eventlog.port import DamagedEvent, EventLog
from cs.eventlog.streams import Streams
from cs.operations.erasure import Erasure
from cs.projections.runner import ViewRunner
from cs.runtime.clock import SystemClock
from cs.runtime.data_folder import DataFolder
from harness.in_process import one_process
from harness.outside import ADA, BEN
from operations.erasure.service import ADA_PROFILE, at_zenith, erasable, outside

BEN_PROFILE = "https://www.linkedin.com/in/ben-ode"


@asynccontextmanager
async def folder(path: Path) -> AsyncIterator[tuple[FolderStores, Erasure]]:
    async with open_folder(DataFolder(path)) as data:
        views = ViewRunner(data.log, data.views, data.keys)
        streams = Streams(data.log, data.snapshots)
        yield data, Erasure(streams, data.keys, SystemClock(), views.catch_up)


async def again(data: FolderStores) -> int:
    """Erase again everybody who ever was."""
    stores = (Streams(data.log), data.keys, SystemClock())
    reflected = ViewRunner(data.log, data.views, data.keys).catch_up
    return await Erasure(*stores, reflected).reapply()


async def search(path: Path, *brands: str) -> None:
    tools = outside(acme=(ADA,), zenith=(at_zenith(BEN),))
    async with (
        folder(path) as (data, _),
        one_process(data.log, data.keys, data.views, tools) as service,
    ):
        key = await service.new_key()
        for brand in brands:
            assert (await service.search(key, brand=brand)).status_code == 200


async def where_found(log: EventLog, name: str) -> tuple[str, int]:
    """Return in which stream, and where in the log, the person *name* was found."""
    for recorded in await log.tail(0):
        if isinstance(recorded.event, PeopleFound) and name in repr(recorded.event):
            return recorded.stream, recorded.position
    raise AssertionError(f"{name} was found")


def state(path: Path, position: int, new: bytes) -> bytes:
    """Put *new* in the place of the bytes of an event; return those."""
    with closing(sqlite3.connect(path / "log.db")) as database, database:
        where = "FROM stored_events WHERE rowid = ?"
        (found,) = database.execute(f"SELECT state {where}", (position,)).fetchone()
        database.execute("UPDATE stored_events SET state = ? WHERE rowid = ?", (new, position))
    return bytes(found)


async def readable(log: EventLog, stream: str) -> str:
    return repr([each.event for each in await log.read(stream)])


async def test_one_damaged_stream_keeps_nobody_else_from_being_forgotten_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "data"
    await search(path, "Acme", "Zenith")
    shutil.copyfile(path / "keys.db", tmp_path / "keys.db")
    async with folder(path) as (data, erasure):
        acme, damaged_at = await where_found(data.log, "Ada Kern")
        zenith, _ = await where_found(data.log, "Ben Ode")
        await erasure.erase_profile(ADA_PROFILE)
        await erasure.erase_profile(BEN_PROFILE)
    shutil.copyfile(tmp_path / "keys.db", path / "keys.db")
    whole = state(path, damaged_at, b"{")

    async with folder(path) as (data, _):
        assert "Ben Ode" in await readable(data.log, zenith)
        with pytest.raises(DamagedEvent):
            await again(data)
        assert "Ben Ode" not in await readable(data.log, zenith)

    state(path, damaged_at, whole)
    async with folder(path) as (data, _):
        assert await again(data) == 2
        assert "Ada Kern" not in await readable(data.log, acme)


async def test_of_one_who_was_lifted_what_was_erased_stays_so_and_they_may_be_found_again() -> (
    None
):
    async with erasable(outside()) as service:
        key = await service.new_key()
        await service.search(key, brand="Acme")
        keys = dict(service.keys._keys)
        await service.erasure.erase_profile(ADA_PROFILE)
        (one,) = await service.erasure.suppressed()
        refused = set(service.keys._suppressed)
        assert len(refused) > 1, "the profile, and what else they are known by"
        await service.erasure.lift([one.id])
        service.keys._keys |= keys
        service.keys._suppressed |= refused
        assert "Ada Kern" in await service.stored()

        assert await service.reapply() == 0

        assert "Ada Kern" not in await service.stored()
        assert await service.erasure.suppressed() == []
        assert await service.keys.suppressed(refused) == set()
